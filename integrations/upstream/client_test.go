package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/upstream"
	"siteapi/integrations/upstream/faulttest"
)

// serve starts a server and returns its address.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func failure(t *testing.T, err error) *upstream.Error {
	t.Helper()
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok {
		t.Fatalf("error %v (%T), want an *upstream.Error", err, err)
	}
	return e
}

func TestDoSendsTheRequest(t *testing.T) {
	t.Parallel()

	var got *http.Request
	var body string
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.Header().Set("X-Response", "yes")
		w.WriteHeader(418)
		fmt.Fprint(w, `{"n":1}`)
	})

	var seen upstream.Call
	c := upstream.New(upstream.Options{
		System:  "stub",
		BaseURL: base + "/v1/",
		Token:   "secret-token",
		Observe: func(_ context.Context, c upstream.Call) { seen = c },
	})
	resp, err := c.Do(t.Context(), upstream.Request{
		Op:     "asking",
		Method: "PATCH",
		Path:   "/contacts/a%2Fb",
		Query:  url.Values{"$locale": {`"es"`}},
		Header: http.Header{"idempotency-key": {"k"}},
		Body:   map[string]string{"a": "ș"},
	})
	if err != nil {
		t.Fatal(err)
	}

	var response struct{ N int }
	if resp.Status != 418 || resp.Header.Get("X-Response") != "yes" ||
		resp.Decode(&response) != nil || response.N != 1 {
		t.Errorf("response %+v", resp)
	}

	for what, pair := range map[string][2]string{
		"path":   {got.URL.EscapedPath(), "/v1/contacts/a%2Fb"},
		"query":  {got.URL.Query().Get("$locale"), `"es"`},
		"token":  {got.Header.Get("Authorization"), "Bearer secret-token"},
		"type":   {got.Header.Get("Content-Type"), "application/json"},
		"accept": {got.Header.Get("Accept"), "application/json"},
		"agent":  {got.Header.Get("User-Agent"), "siteapi"},
		"header": {got.Header.Get("Idempotency-Key"), "k"},
		"body":   {body, `{"a":"ș"}`},
		"seen":   {seen.System + " " + seen.Op + " " + string(seen.Kind), "stub asking rejected"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
}

func TestDoRefusesBadRequests(t *testing.T) {
	t.Parallel()
	_, err := upstream.New(upstream.Options{BaseURL: "http://x", Token: "secret-token"}).
		Do(t.Context(), upstream.Request{Path: "@evil/"})
	if e := failure(t, err); e.Kind != upstream.Rejected || e.Detail == "" {
		t.Errorf("another host: got %v", e)
	}
}

func TestDoTransportFailures(t *testing.T) {
	t.Parallel()

	limited := faulttest.Respond(429)
	limited.Mode = faulttest.Truncated
	for _, tc := range []struct {
		fault  faulttest.Fault
		kind   upstream.Kind
		status int
		detail string
	}{
		{faulttest.Of(faulttest.Reset), upstream.Unavailable, 0, ""},
		{faulttest.Of(faulttest.Truncated), upstream.Unavailable, 200, ""},
		{limited, upstream.Limited, 429, ""},
		{faulttest.Of(faulttest.Drip), upstream.Unavailable, 200, "no complete response within 2s"},
		{faulttest.Of(faulttest.Oversized), upstream.Unavailable, 200, "larger than 1000 bytes"},
	} {
		t.Run(tc.fault.String(), func(t *testing.T) {
			t.Parallel()
			c := upstream.New(upstream.Options{
				System: "stub",
				BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
					tc.fault.Spoil(w, r, []byte("{}"), nil)
				}),
				Timeout: 2 * time.Second,
				MaxBody: 1000,
			})

			_, err := c.Do(t.Context(), upstream.Request{Op: "asking", Path: "/x?email=ana@example.com"})
			e := failure(t, err)
			if e.Kind != tc.kind || e.Status != tc.status || !strings.Contains(e.Detail, tc.detail) {
				t.Errorf("got %v, want kind %s, status %d, detail %q", e, tc.kind, tc.status, tc.detail)
			}
			if strings.Contains(e.Error(), "ana") {
				t.Errorf("personal data in %q", e)
			}
		})
	}
}

// TestDoOnAClosedConnection checks that a query is sent again if the system has closed the
// idle connection, and that a write is never sent again.
func TestDoOnAClosedConnection(t *testing.T) {
	t.Parallel()

	for safe, want := range map[bool]int32{true: 3, false: 2} {
		var calls atomic.Int32
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			if calls.Add(1) == 2 {
				conn, _, _ := w.(http.Hijacker).Hijack()
				_ = conn.Close()
			}
		})

		c := upstream.New(upstream.Options{System: "stub", BaseURL: base})

		var err error
		for range 2 {
			_, err = c.Do(t.Context(), upstream.Request{
				Op:     "asking",
				Method: "POST",
				Path:   "/",
				Body:   1,
				Safe:   safe,
			})
		}

		if calls.Load() != want || (err == nil) != safe {
			t.Errorf("safe %v: %d requests, %v", safe, calls.Load(), err)
		}
	}
}
