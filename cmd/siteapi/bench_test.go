package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
)

// BenchmarkHotRead measures what the service adds to an HTTP server for a query whose
// answer is kept: the front, the door, the log and the metrics, without the network.
func BenchmarkHotRead(b *testing.B) {
	benchRequest(b, http.MethodPost, "/graphql",
		`{"query":"{ SiteSettings(id: \"siteSettings\") { contactEmail contactPhone logo { asset { url } } } }"}`)
}

// BenchmarkHealth measures the front alone.
func BenchmarkHealth(b *testing.B) { benchRequest(b, http.MethodGet, "/healthz", "") }

func benchRequest(b *testing.B, method, path, body string) {
	b.Helper()
	env := map[string]string{
		"ENVIRONMENT": "production", "CACHE_API_TOKEN": "bench-cache", "CMS_WEBHOOK_SECRET": "bench-hook",
		"RATE_LIMITS": "off", "ADMIN_ADDR": "off", "DATA_DIR": b.TempDir(),
	}
	settings, err := config.Read(func(name string) string { return env[name] })
	if err != nil {
		b.Fatal(err)
	}
	events := newLogWriter(io.Discard)
	a, err := newApp(b.Context(), settings, zerolog.New(events).With().Timestamp().Logger())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.shutdown(b.Context()) })
	reader := strings.NewReader(body)
	r := httptest.NewRequest(method, path, nil)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	r.ContentLength = int64(len(body))
	r.Body = io.NopCloser(reader)
	w := &discarding{}
	serve := func() {
		reader.Reset(body)
		w.header = make(http.Header)
		a.handler.ServeHTTP(w, r)
	}
	for range 10 {
		serve()
	}
	if w.status >= http.StatusBadRequest {
		b.Fatalf("answered %d", w.status)
	}
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		serve()
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// processorTime is what this process has spent so far: on a busy machine it says more
// than the clock on the wall.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// discarding is a writer of answers that nobody reads.
type discarding struct {
	header http.Header
	status int
}

func (d *discarding) Header() http.Header         { return d.header }
func (d *discarding) WriteHeader(status int)      { d.status = status }
func (d *discarding) Write(p []byte) (int, error) { return len(p), nil }
