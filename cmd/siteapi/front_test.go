package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"siteapi/schema"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	c := &callers{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	tests := []struct {
		name, remote string
		header       map[string]string
		want         string
	}{
		{"no proxy", "203.0.113.5:1234", nil, "203.0.113.5"},
		{"a stranger who claims to be a proxy", "203.0.113.5:1234", map[string]string{"X-Forwarded-For": "198.51.100.1"}, "203.0.113.5"},
		{"a stranger with Forwarded", "203.0.113.5:1234", map[string]string{"Forwarded": "for=198.51.100.1"}, "203.0.113.5"},
		{"one proxy", "10.0.0.1:80", map[string]string{"X-Forwarded-For": "198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:80", map[string]string{"X-Forwarded-For": "198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"a client who lies before the proxy", "10.0.0.1:80", map[string]string{"X-Forwarded-For": "1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		{"Forwarded", "10.0.0.1:80", map[string]string{"Forwarded": `for=192.0.2.60;proto=http;by=203.0.113.43`}, "192.0.2.60"},
		{"both headers agree", "10.0.0.1:80", map[string]string{"Forwarded": "for=192.0.2.60", "X-Forwarded-For": "192.0.2.60"}, "192.0.2.60"},
		{"a client adds the header its proxy does not write", "10.0.0.1:80", map[string]string{"Forwarded": "for=192.0.2.60", "X-Forwarded-For": "1.1.1.1"}, "10.0.0.1"},
		{"Forwarded with IPv6 and port", "10.0.0.1:80", map[string]string{"Forwarded": `For="[2001:db8::1]:4711"`}, "2001:db8::1"},
		{"IPv6 proxy", "[fd00::1]:80", map[string]string{"X-Forwarded-For": "2001:db8::2"}, "2001:db8::2"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:80", map[string]string{"X-Forwarded-For": "198.51.100.1"}, "198.51.100.1"},
		{"address with port", "10.0.0.1:80", map[string]string{"X-Forwarded-For": "198.51.100.1:5555"}, "198.51.100.1"},
		{"nonsense", "10.0.0.1:80", map[string]string{"X-Forwarded-For": "unknown"}, "10.0.0.1"},
		{"nonsense behind a proxy", "10.0.0.1:80", map[string]string{"X-Forwarded-For": "x, 10.0.0.3"}, "10.0.0.3"},
		{"no header", "10.0.0.1:80", nil, "10.0.0.1"},
		{"proxies all the way", "10.0.0.1:80", map[string]string{"X-Forwarded-For": "10.0.0.4"}, "10.0.0.4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = tt.remote
			for name, value := range tt.header {
				r.Header.Set(name, value)
			}
			if got := c.address(r); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		`"8e03978e"`: "8e03978e", `8e03978e`: "8e03978e", ` "a b" `: "a b", `"a\"b\\c"`: `a"b\c`, `"`: `"`, ``: ``, `""`: ``,
	} {
		if got := idempotencyKey(header); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
}

func TestBearer(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Bearer abc": "abc", "bearer abc": "abc", "Bearer  abc ": "abc", "Basic abc": "", "abc": "", "": "", "Bearer": "", "Bearer ": "",
	} {
		if got := bearer(header); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := startService(t, map[string]string{"CORS_ALLOWED_ORIGINS": "https://site.example, https://other.example"})
	preflight := s.do("OPTIONS", "/graphql", "", "Origin: https://site.example", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type")
	if preflight.status != 204 || preflight.header.Get("Access-Control-Allow-Origin") != "https://site.example" ||
		!strings.Contains(preflight.header.Get("Access-Control-Allow-Headers"), "Content-Type") {
		t.Errorf("preflight: %d %v", preflight.status, preflight.header)
	}
	allowed := s.do("GET", "/api/cache/clear", "", "Origin: https://other.example")
	if allowed.header.Get("Access-Control-Allow-Origin") != "https://other.example" || !strings.Contains(strings.Join(allowed.header.Values("Vary"), ","), "Origin") {
		t.Errorf("allowed origin: %v", allowed.header)
	}
	for _, origin := range []string{"https://evil.example", "https://site.example.evil.example", "null"} {
		got := s.do("GET", "/api/cache/clear", "", "Origin: "+origin)
		if got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may read answers: %v", origin, got.header)
		}
	}
	if got := s.do("GET", "/api/none", "", "Origin: https://site.example"); got.header.Get("Access-Control-Allow-Origin") == "" {
		t.Error("an error can't be read by an allowed page")
	}
	open := startService(t, nil)
	if got := open.do("GET", "/api/cache/clear", "", "Origin: https://anything.example"); got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("in development: %v", got.header)
	}
}

func TestFrontSurvivesPanics(t *testing.T) {
	t.Parallel()
	log := &syncBuffer{}
	f := &front{
		next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/late" {
				_, _ = w.Write([]byte("half"))
			}
			panic("boom")
		}),
		callers: &callers{}, cors: newCORS(nil), log: zerolog.New(log),
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	resp, err := http.Get(server.URL + "/early")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 500 || resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	if got := log.String(); !strings.Contains(got, "boom") || !strings.Contains(got, "front_test.go") || !strings.Contains(got, `"status":500`) {
		t.Errorf("the log lacks the panic, its stack or the request: %s", got)
	}
	if resp, err := http.Get(server.URL + "/late"); err == nil {
		_ = resp.Body.Close()
		if resp.ContentLength >= 0 {
			t.Error("half an answer looks like a whole one")
		}
	}
	eventually(t, "the request that was cut off is logged", func() bool {
		return strings.Contains(log.String(), `"path":"/late","status":200,"bytes":4`)
	})
}

// TestKeptDocument: a PDF that is sent again carries the id of its own request, and is
// logged for debugging. How long one is kept is a fraction of a second.
func TestKeptDocument(t *testing.T) {
	t.Parallel()
	s := startService(t, map[string]string{"LOG_LEVEL": "debug"})
	pdf := "/api/quote/pdf?id=" + s.submit(t, "kept")
	n := 0
	eventually(t, "a PDF and its header are sent again", func() bool {
		for _, method := range []string{"GET", "HEAD"} {
			n++
			id := fmt.Sprintf("pdf-%d", n)
			if got := s.do(method, pdf, "", "X-Request-Id: "+id); got.status != http.StatusOK || got.header.Get("X-Request-Id") != id {
				t.Errorf("%s %s: %d %v", method, id, got.status, got.header)
			}
		}
		return slices.ContainsFunc(strings.Split(s.log.String(), "\n"), func(line string) bool {
			return strings.Contains(line, `"level":"debug"`) && strings.Contains(line, `"method":"HEAD"`)
		})
	})
}

// TestWhatIsLoggedForDebugging: what comes in great numbers doesn't drown the log.
func TestWhatIsLoggedForDebugging(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"info", "debug"} {
		s := startService(t, map[string]string{"LOG_LEVEL": level})
		for i := range 5 {
			s.query(`{ SiteSettings(id: "siteSettings") { contactEmail } }`, nil, fmt.Sprintf("X-Request-Id: read-%d", i))
		}
		s.query(`{ nothing }`, nil, "X-Request-Id: wrong")
		s.do("POST", "/api/quote/track", `{"sessionId":"logged"}`, "X-Request-Id: rest-track")
		s.do("POST", "/api/quote/track", `{"sessionId":""}`, "X-Request-Id: bad-track")
		const track = `mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }`
		s.query(track, map[string]any{"i": object{"sessionId": "logged"}}, "X-Request-Id: graphql-track")
		s.query(track, map[string]any{"i": object{"sessionId": ""}}, "X-Request-Id: wrong-track")
		var found []string
		for line := range strings.Lines(s.log.String()) {
			var event struct {
				Level     string `json:"level"`
				RequestID string `json:"request_id"`
			}
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Fatal(err)
			}
			first := event.RequestID == "read-0" || event.RequestID == "read-1" // one of them is cached
			if strings.Contains(line, `"message":"request"`) && !strings.Contains(line, `"path":"/api/quote/submit"`) && !first {
				found = append(found, event.RequestID+" "+event.Level)
			}
		}
		want := []string{"wrong info", "bad-track info", "wrong-track info"}
		if level == "debug" {
			want = []string{"read-2 debug", "read-3 debug", "read-4 debug", "wrong info",
				"rest-track debug", "bad-track info", "graphql-track debug", "wrong-track info"}
		}
		if !slices.Equal(found, want) {
			t.Errorf("with LOG_LEVEL=%s: %q, want %q", level, found, want)
		}
	}
}

func TestFrontLimits(t *testing.T) {
	t.Parallel()
	f := &front{
		next: http.NotFoundHandler(), callers: &callers{}, cors: newCORS(nil), log: zerolog.Nop(),
		limit: func(*http.Request, *schema.Caller) *schema.Error {
			return &schema.Error{Code: schema.CodeRateLimited, Message: "Too many requests.", RetryAfter: 7e9}
		},
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != 429 || w.Header().Get("Retry-After") != "7" {
		t.Errorf("got %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
}
