package upstream_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/upstream"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	reset := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.Close()
	}
	answer := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		}
	}
	for name, tc := range map[string]struct {
		answers []http.HandlerFunc // the last one repeats
		req     upstream.Request
		retries int
		calls   int32
		status  int // 0: an error
	}{
		"none by default":         {[]http.HandlerFunc{answer(503), answer(200)}, upstream.Request{}, 0, 1, 503},
		"a read":                  {[]http.HandlerFunc{answer(503), answer(502), answer(200)}, upstream.Request{}, 2, 3, 200},
		"a read that stays bad":   {[]http.HandlerFunc{answer(503)}, upstream.Request{}, 2, 3, 503},
		"a lost connection":       {[]http.HandlerFunc{reset, answer(200)}, upstream.Request{}, 2, 2, 200},
		"lost for good":           {[]http.HandlerFunc{reset}, upstream.Request{}, 2, 3, 0},
		"a write":                 {[]http.HandlerFunc{answer(503), answer(200)}, upstream.Request{Method: "POST", Body: 1}, 2, 1, 503},
		"a lost write":            {[]http.HandlerFunc{reset, answer(200)}, upstream.Request{Method: "POST", Body: 1}, 2, 1, 0},
		"a safe post":             {[]http.HandlerFunc{answer(503), answer(200)}, upstream.Request{Method: "POST", Body: 1, Safe: true}, 2, 2, 200},
		"refused":                 {[]http.HandlerFunc{answer(401), answer(200)}, upstream.Request{}, 2, 1, 401},
		"a redirect":              {[]http.HandlerFunc{answer(302, "Location", "/"), answer(200)}, upstream.Request{}, 2, 1, 302},
		"limited, no wish":        {[]http.HandlerFunc{answer(429), answer(200)}, upstream.Request{}, 2, 2, 200},
		"limited, a short wish":   {[]http.HandlerFunc{answer(429, "Retry-After", "1"), answer(200)}, upstream.Request{}, 2, 2, 200},
		"limited, a long wish":    {[]http.HandlerFunc{answer(429, "Retry-After", "4"), answer(200)}, upstream.Request{}, 2, 1, 429},
		"more than the time left": {[]http.HandlerFunc{answer(503, "Retry-After", "3"), answer(200)}, upstream.Request{}, 2, 1, 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			base := far(t, func(w http.ResponseWriter, r *http.Request) {
				n := int(calls.Add(1)) - 1
				tc.answers[min(n, len(tc.answers)-1)](w, r)
			})
			// A connection is never reused: net/http itself repeats a read whose reused
			// connection turns out closed, which would spoil the count.
			transport := upstream.NewTransport()
			transport.DisableKeepAlives = true
			c := upstream.New(upstream.Options{
				System: "far", BaseURL: base, Retries: tc.retries, RetryWait: time.Millisecond,
				Timeout: 2500 * time.Millisecond, Transport: transport,
			})
			if name == "limited, a long wish" { // there would be time enough
				c = upstream.New(upstream.Options{System: "far", BaseURL: base, Retries: tc.retries, Transport: transport})
			}
			tc.req.Path = "/"
			start := time.Now()
			resp, err := c.Do(t.Context(), tc.req)
			switch {
			case tc.status == 0 && err == nil:
				t.Errorf("answered %d, want an error", resp.Status)
			case tc.status != 0 && err != nil:
				t.Errorf("got %v, want status %d", err, tc.status)
			case tc.status != 0 && resp.Status != tc.status:
				t.Errorf("status %d, want %d", resp.Status, tc.status)
			}
			if calls.Load() != tc.calls {
				t.Errorf("%d calls, want %d", calls.Load(), tc.calls)
			}
			if name == "limited, a short wish" && time.Since(start) < time.Second {
				t.Error("the wish to wait was not honoured")
			}
		})
	}
}
