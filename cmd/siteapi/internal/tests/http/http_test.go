package http

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestCORS(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CORS_ALLOWED_ORIGINS=https://site.example, https://other.example")

	allowed := s.Do("GET", "/api/cache/clear", "", "Origin: https://other.example")
	if allowed.Header.Get("Access-Control-Allow-Origin") != "https://other.example" ||
		!strings.Contains(strings.Join(allowed.Header.Values("Vary"), ","), "Origin") {
		t.Errorf("allowed origin: %v", allowed.Header)
	}

	if got := s.Do("GET", "/api/none", "", "Origin: https://site.example"); got.Header.Get(
		"Access-Control-Allow-Origin") == "" {
		t.Error("a page of an allowed origin cannot read an error")
	}

	// If any origin may read, a shared cache can store one response for all.
	open := apptest.Start(t)
	for _, origin := range []string{"https://anything.example", ""} {
		got := open.Do("GET", "/api/cache/clear", "", "Origin: "+origin)
		if got.Header.Get("Access-Control-Allow-Origin") != "*" ||
			strings.Contains(strings.Join(got.Header.Values("Vary"), ","), "Origin") {
			t.Errorf("in development, from %q: %v", origin, got.Header)
		}
	}
}

// A page of a listed origin may send the headers that its libraries add, but cannot ask for a
// preview. Browsers omit the default port of an origin.
func TestHeadersOfPages(t *testing.T) {
	t.Parallel()
	listed := apptest.Start(t,
		"CORS_ALLOWED_ORIGINS=https://site.example:443,http://plain.example:80,https://odd.example:8443,http://[::1]:80",
	)
	open := apptest.Start(t)
	preflight := func(s *apptest.Service, origin, headers string) http.Header {
		got := s.Do("OPTIONS", "/graphql", "", "Origin: "+origin, "Access-Control-Request-Method: POST",
			"Access-Control-Request-Headers: "+headers)
		return got.Header
	}

	for headers, allowed := range map[string]bool{
		"x-datadog-origin,x-datadog-parent-id,x-datadog-sampling-priority,x-datadog-trace-id": true, // Datadog RUM
		"newrelic,traceparent,tracestate":      true, // New Relic
		"b3":                                   true, // Zipkin
		"uber-trace-id":                        true, // Jaeger
		"elastic-apm-traceparent":              true, // Elastic APM
		"sentry-trace,baggage":                 true, // Sentry
		"x-requested-with":                     true, // jQuery and many others
		"graphql-client-name,content-type":     true,
		"X-Amzn-Trace-Id":                      true,
		"content-type, x-b3-sampled":           true, // a blank, as some proxies add
		strings.Repeat("x", 1024):              true,
		strings.Repeat("x", 1025):              false,
		"x-preview":                            false,
		"X-Preview":                            false,
		"*":                                    false, // would allow every header
		"x/y":                                  false,
		"x y":                                  false,
		"\"quoted\"":                           false,
		"é":                                    false,
		strings.Repeat("x-a,", 256) + "x-last": false,
	} {
		for _, origin := range []string{"https://site.example", "http://plain.example", "https://odd.example:8443", "http://[::1]"} {
			got := preflight(listed, origin, headers)
			list := strings.Split(got.Get("Access-Control-Allow-Headers"), ", ")
			for name := range strings.SplitSeq(headers, ",") {
				if slices.Contains(list, strings.TrimSpace(name)) != (allowed || name == "content-type") {
					t.Errorf("%.50s from %s: %.50s in %v", headers, origin, name, list)
				}
			}
			if got.Get("Access-Control-Allow-Origin") != origin || slices.Contains(list, "*") ||
				!slices.Contains(got.Values("Vary"), "Access-Control-Request-Headers") {
				t.Errorf("%.50s from %s: %v", headers, origin, got)
			}
		}
	}

	// With *, any page of the web may call: it gets no more than the usual headers.
	if got := preflight(open, "https://any.example", "x-datadog-origin"); strings.Contains(fmt.Sprint(got), "datadog") ||
		!strings.Contains(got.Get("Access-Control-Allow-Headers"), "sentry-trace") ||
		strings.Contains(fmt.Sprint(got["Vary"]), "Headers") {
		t.Errorf("from any origin: %v", got)
	}
	if got := preflight(listed, "https://evil.example", "x-datadog-origin"); got.Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("from another origin: %v", got)
	}
	for _, origin := range []string{
		"https://site.example:443", "http://site.example", "https://plain.example", "https://odd.example",
		"https://evil.example", "https://site.example.evil.example", "null",
	} {
		if got := preflight(listed, origin, "b3"); got.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("from %s: %v", origin, got)
		}
	}
}

// The Content-Security-Policy of a response that is not a page forbids everything, in
// case a browser opens it directly.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	const noDocument = "default-src 'none'; frame-ancestors 'none'"
	s := apptest.Start(t)
	for path, policy := range map[string]string{
		"/api/cache/clear":  noDocument,
		"/api/openapi.json": noDocument,
		"/nowhere":          noDocument,
		"/playground":       "",
		"/":                 "",
	} {
		h := s.Do("GET", path, "").Header
		got := h.Get("Content-Security-Policy")
		if policy != "" && got != policy || policy == "" && !strings.Contains(got, "frame-ancestors 'none'") {
			t.Errorf("%s has the policy %q", path, got)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s lacks headers: %v", path, h)
		}
	}
}

// Each path accepts the methods that its Allow header lists, and no others.
func TestMethods(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	for path, allow := range map[string]string{
		"/":                     "GET, HEAD, OPTIONS",
		"/playground":           "GET, HEAD, OPTIONS",
		"/healthz":              "GET, HEAD, OPTIONS",
		"/api/cache/clear":      "GET, HEAD, POST, OPTIONS",
		"/api/cache/invalidate": "POST, OPTIONS",
		"/api/webhooks/cms":     "POST, OPTIONS",
		"/api/quote/track":      "POST, OPTIONS",
		"/api/quote/submit":     "POST, OPTIONS",
		"/api/quote/pdf":        "GET, HEAD, OPTIONS",
		"/api/openapi.json":     "GET, HEAD, OPTIONS",
	} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"} {
			got := s.Do(method, path, "")
			if refused := got.Status == 405; refused == strings.Contains(allow, method) ||
				(refused || method == "OPTIONS") && got.Header.Get("Allow") != allow || method == "OPTIONS" && got.Status != 204 ||
				refused && method != "HEAD" && s.RESTOutcome(got).Code != "METHOD_NOT_ALLOWED" {
				t.Errorf("%s %s: %s, Allow: %q", method, path, got, got.Header.Get("Allow"))
			}
		}
	}
}
