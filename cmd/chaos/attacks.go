package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"siteapi/cmd/internal/harness"
)

// attacks runs attacks from one address against the default limits.
func attacks(ctx context.Context, t *trial) string {
	return floods(ctx, t) + "; " + queries(ctx, t) + "; " + endless(ctx, t)
}

// endless runs the service with other systems whose responses never end, and returns its
// memory. It serves content and accepts leads all the same.
func endless(ctx context.Context, t *trial) string {
	const secret = "whsec_bGVhZGxlYWRsZWFkbGVhZGxlYWRsZWFk"
	body := harness.NewEndless(ctx, true, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[", " ")
	header := harness.NewEndless(ctx, true, "HTTP/1.1 200 OK\r\n", "x-more: header\r\n")
	greeting := harness.NewEndless(ctx, false, "220-hello\r\n", "220-more\r\n")
	s := harness.New(t.binary, filepath.Join(t.dir, "endless"),
		"ENVIRONMENT=development",
		"CRM_DRIVER=hubspot", "HUBSPOT_TOKEN=t", "HUBSPOT_API_URL=http://"+body.Address,
		"LEAD_WEBHOOK_URL=http://"+header.Address, "LEAD_WEBHOOK_SECRET="+secret,
		"REVALIDATE_URLS=http://"+body.Address, "REVALIDATE_SECRET="+secret,
		"CDN_PURGE_KIND=varnish", "CDN_PURGE_URL=http://"+header.Address, "CDN_PURGE_TOKEN=t",
		"SMTP_URL=smtp://"+greeting.Address, "MAIL_FROM=quotes@lumen.test", "SALES_MAIL_TO=sales@lumen.test")
	s.Run(ctx)
	defer s.Stop(syscall.SIGKILL)

	most := 0.0
	length := time.Duration(t.times(20, 5)) * time.Second
	for began, lead := time.Now(), 0; time.Since(began) < length; lead++ {
		submission(ctx, s, lead)
		sleep(ctx, 100*time.Millisecond)
		now, _ := s.Memory()
		if most = max(most, now); most > 256 {
			harness.Failf("servers that never end: %.0f MiB", most)
		}
	}
	if greeting.Longest.Load() == 0 || body.Longest.Load() == 0 || header.Longest.Load() == 0 {
		harness.Failf("the servers that never end were not called")
	}
	return fmt.Sprintf("servers that never end: at most %.0f MiB", most)
}

// floods runs three attacks at the same time: large invalid input, webhooks without a
// token, and bodies that never end. All requests of a visitor at another address must
// succeed.
func floods(ctx context.Context, t *trial) string {
	s := harness.New(t.binary, t.dir, "RATE_LIMITS=on", "CONTENT_TYPES=heroSection")
	s.Run(ctx)
	defer s.Stop(syscall.SIGKILL)

	length := time.Duration(t.times(30, 10)) * time.Second
	running, stop := context.WithTimeout(ctx, length)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()

	for _, target := range []vegeta.Target{
		post(s.Base+"/graphql", "", invalidInput()),
		post(s.Base+"/api/webhooks/cms", "", "["+strings.Repeat(`{"":0},`, 140_000)+"0]"),
	} {
		// The service may refuse requests or close connections.
		group.Go(func() { attack(running, vegeta.NewStaticTargeter(target), 30, 1000, length) })
	}
	for range 1290 {
		group.Go(func() { halfBody(running, s.Base) })
	}

	elsewhere := &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext,
			MaxIdleConnsPerHost: -1, // a request could race with the close of an idle connection
		},
	}

	requests, most := 0, 0.0
	for ; running.Err() == nil; requests++ {
		resp, err := elsewhere.Post( //nolint:noctx // the client has a timeout
			s.Base+"/graphql", "application/json", strings.NewReader(readQuery))
		harness.Check(err)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()

		now, _ := s.Memory()
		most = max(most, now)
		if resp.StatusCode != http.StatusOK || most > 256 {
			harness.Failf("request %d: %s, the service uses %.0f MiB",
				requests, resp.Status, most)
		}
		sleep(running, 50*time.Millisecond)
	}

	return fmt.Sprintf("%d requests from another address, at most %.0f MiB; %s", requests, most, unreadLog(ctx, t))
}

// invalidInput returns a request of 85 KB with four leads of 21,000 empty features each.
func invalidInput() string {
	features := strings.Repeat(`"",`, 21_000) + `""`
	var fields strings.Builder
	for i := range 4 {
		fmt.Fprintf(&fields, "s%d: submitQuote(input: $i) { success } ", i)
	}

	query, _ := json.Marshal("mutation($i: SubmitQuoteInput!) { " + fields.String() + "}")
	return fmt.Sprintf(
		`{"query":%s,"variables":{"i":{"sessionId":"x","contact":{"firstName":"","lastName":"","email":""},
		"selections":{"projectType":"","features":[%s]},"estimate":{"min":0,"max":0,"currency":""}}}}`,
		query, features)
}

// halfBody sends half of a body, and repeats this when the service closes the connection.
func halfBody(ctx context.Context, base string) {
	for ; ctx.Err() == nil; sleep(ctx, 100*time.Millisecond) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			continue
		}

		_, _ = io.WriteString(conn, "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
			"Content-Length: 1000\r\n\r\n{")

		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, _ = io.Copy(io.Discard, conn)
		stop()
		_ = conn.Close()
	}
}
