package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkREST measures the way of a tracking call through adapter, executor and
// resolver, without a network and with nothing stored.
func BenchmarkREST(b *testing.B) {
	h, err := newREST()
	if err != nil {
		b.Fatal(err)
	}
	body := trackBody("bench-session")
	reader := strings.NewReader(body)
	r := httptest.NewRequest(http.MethodPost, "/api/quote/track", nil)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	r.ContentLength, r.Body = int64(len(body)), io.NopCloser(reader)
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		w := discarding{}
		if h.ServeHTTP(w, r); w["Content-Length"] == nil || w["Content-Type"][0] != "application/json; charset=utf-8" {
			b.Fatalf("answered %v", w)
		}
	}
}

// discarding is the header of an answer that nobody reads.
type discarding http.Header

func (d discarding) Header() http.Header         { return http.Header(d) }
func (d discarding) WriteHeader(int)             {}
func (d discarding) Write(p []byte) (int, error) { return len(p), nil }
