package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
)

// impatient is a service that gives slow clients little time.
func impatient(t *testing.T) (address string) {
	t.Helper()
	env := map[string]string{"ENVIRONMENT": "development", "DATA_DIR": t.TempDir(), "RATE_LIMITS": "off", "ADMIN_ADDR": "off"}
	settings, err := config.Read(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(t.Context(), settings, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	a.times = serverTimes{header: 300 * time.Millisecond, read: 600 * time.Millisecond, write: time.Second, idle: 400 * time.Millisecond, late: 20 * time.Millisecond}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return listener.Addr().String()
}

// Whatever a client drips, its connection ends soon after its time is up.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	address := impatient(t)
	tests := []struct {
		name  string
		first string // sent at once
		drip  string // sent again and again
		limit time.Duration
	}{
		{"a header drop by drop", "GET /healthz HTTP/1.1\r\n", "X-Drop: 1\r\n", 300 * time.Millisecond},
		{"no request at all", "", "", 300 * time.Millisecond},
		{"a REST body drop by drop", "POST /api/quote/track HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{", " ", 600 * time.Millisecond},
		{"a GraphQL body drop by drop", "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{", " ", 600 * time.Millisecond},
		{"chunks drop by drop", "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 600 * time.Millisecond},
		{"kept open for nothing", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "", 400 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			began := time.Now()
			go func() {
				_, err := io.WriteString(conn, tt.first)
				for err == nil && tt.drip != "" {
					time.Sleep(30 * time.Millisecond)
					_, err = io.WriteString(conn, tt.drip)
				}
			}()
			_ = conn.SetReadDeadline(began.Add(10 * time.Second))
			got, err := io.ReadAll(conn)
			took := time.Since(began)
			if took < tt.limit-50*time.Millisecond || took > tt.limit+2*time.Second {
				t.Errorf("the connection ended after %v with %v, want about %v: %s", took, err, tt.limit, got)
			}
			if strings.Contains(string(got), "HTTP/1.1 5") {
				t.Errorf("a slow client is called our fault: %s", got)
			}
		})
	}
}

// A client that does not read its answers can't keep its connection either.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	address := impatient(t)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	ended := make(chan time.Duration, 1)
	go func() {
		began := time.Now()
		for { // requests without end for a document of some size, none of them read
			_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.WriteString(conn, "GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				ended <- time.Since(began)
				return
			}
		}
	}()
	if took := <-ended; took > 8*time.Second {
		t.Errorf("the connection ended after %v", took)
	}
}

func TestHeaderLimits(t *testing.T) {
	t.Parallel()
	address := impatient(t)
	for name, tt := range map[string]struct {
		header string
		want   int
	}{
		"one long header": {"X-Long: " + strings.Repeat("x", maxHeaderBytes+8<<10) + "\r\n", 431},
		"many headers":    {strings.Repeat("X-Many: 0123456789\r\n", 4000), 431},
		"usual ones":      {strings.Repeat("X-Few: 0123456789\r\n", 50), 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			go func() { _, _ = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n%s\r\n", tt.header) }()
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != tt.want {
				t.Errorf("got %d, want %d", resp.StatusCode, tt.want)
			}
		})
	}
}
