package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// clientAt returns a client whose connections come from another address of this machine.
func clientAt(ip string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}}
}

// defaultLimits is the environment of a service with its default limits.
func defaultLimits() []string {
	return []string{"ENVIRONMENT=production", "RATE_LIMITS=on", "CACHE_API_TOKEN=token-of-the-cache", "CMS_WEBHOOK_SECRET=secret-of-the-webhook"}
}

// residentMiB is the memory of a process.
func residentMiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("there is no /proc here")
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib / 1024
}

// slowBody sends half of a body and waits for the end of the connection.
func slowBody(address, path string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{\"query\":\"", path)
	_, _ = io.Copy(io.Discard, c)
}

// Three attacks of one address at a time: invalid input, large bodies without a token,
// half-sent bodies. A visitor at another address notices none of them.
func TestVisitorsDuringAttacks(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir(), defaultLimits()...)
	address := strings.TrimPrefix(r.base, "http://")
	invalid := `{"query":"mutation($i: SubmitQuoteInput!) { a: submitQuote(input: $i) { success } b: submitQuote(input: $i) { success } ` +
		`c: submitQuote(input: $i) { success } d: submitQuote(input: $i) { success } }","variables":{"i":{"selections":{"features":[` +
		strings.Repeat("{},", 21_000) + `{}]}}}}`
	large := "[" + strings.Repeat(`{"":0},`, 149_000) + "0]"
	until := time.Now().Add(12 * time.Second)
	var attacks sync.WaitGroup
	attack := func(workers int, once func()) {
		for range workers {
			attacks.Go(func() {
				for time.Now().Before(until) {
					once()
				}
			})
		}
	}
	attacker := clientAt("127.0.0.1")
	post := func(path, body string) {
		if resp, err := attacker.Post(r.base+path, "application/json", strings.NewReader(body)); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		time.Sleep(100 * time.Millisecond) // within the rate limits for a while
	}
	attack(30, func() { post("/graphql", invalid) })
	attack(32, func() { post("/api/webhooks/cms", large) })
	attack(700, func() { slowBody(address, "/graphql"); time.Sleep(5 * time.Second) })
	attack(590, func() { slowBody(address, "/api/nothing"); time.Sleep(5 * time.Second) })

	visitor := clientAt("127.0.0.2")
	for n := 0; time.Now().Before(until); n++ {
		path, body := "/graphql", `{"query":"{ SiteSettings(id: \"siteSettings\") { contactEmail } }"}`
		if n%5 == 0 {
			path, body = "/api/quote/track", fmt.Sprintf(`{"sessionId":"visitor-%d"}`, n)
		}
		resp, err := visitor.Post(r.base+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatalf("a visitor is not answered: %v", err)
		}
		answer, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || strings.Contains(string(answer), `"errors"`) {
			t.Fatalf("a visitor gets %d %s %v", resp.StatusCode, answer, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	attacks.Wait()
	if got := residentMiB(t, r.cmd.Process.Pid); got > 256 {
		t.Errorf("the process took %d MiB", got)
	}
}

// Of one client at most 64 requests are in flight, 8 of them with large bodies.
func TestRequestsInFlightOfOneClient(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir(), defaultLimits()...)
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
	eventually(t, "the client is refused", func() bool { return get("127.0.0.1") == http.StatusTooManyRequests })
	if got := get("127.0.0.2"); got != http.StatusOK {
		t.Errorf("another client gets %d", got)
	}
}
