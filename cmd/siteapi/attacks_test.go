package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// clientAt returns a client whose connections come from another address of this machine.
func clientAt(ip string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64},
	}
}

// defaultLimits returns the environment of a service with its default limits.
func defaultLimits(t *testing.T) []string {
	return []string{
		"ENVIRONMENT=production",
		"CMS_DRIVER=file",
		"CMS_FILE=" + ownContent(t),
		"RATE_LIMITS=on",
		"CACHE_API_TOKEN=token-of-the-cache",
		"CMS_WEBHOOK_SECRET=secret-of-the-webhook",
	}
}

// slowBody sends half of a body and waits for the end of the connection.
func slowBody(address, path string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()

	_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Content-Length: 60000\r\n\r\n{\"query\":\"", path)
	_, _ = io.Copy(io.Discard, c)
}

// At most 64 requests of one client are in flight, 4 of them with large bodies.
func TestRequestsInFlightOfOneClient(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir(), defaultLimits(t)...)
	address := strings.TrimPrefix(r.base, "http://")

	var slow sync.WaitGroup
	defer slow.Wait()
	for range 64 {
		slow.Go(func() { slowBody(address, "/graphql") })
	}
	defer func() { _ = r.cmd.Process.Kill() }()

	get := func(ip string) int {
		resp, err := clientAt(ip).Get(r.base + "/api/cache/clear")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}

	eventually(t, "the client is refused", func() bool {
		return get("127.0.0.1") == http.StatusTooManyRequests
	})
	if got := get("127.0.0.2"); got != http.StatusOK {
		t.Errorf("another client gets %d", got)
	}
}
