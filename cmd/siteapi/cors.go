package main

import (
	"net/http"
	"slices"
)

// cors lets the site's pages call the service from a browser.
type cors struct {
	any     bool
	origins []string
}

func newCORS(origins []string) *cors {
	return &cors{any: slices.Contains(origins, "*"), origins: origins}
}

// Headers a page may send and read beyond those every page may.
const (
	corsRequestHeaders  = "Authorization, Content-Type, Idempotency-Key, X-Request-Id, Apollo-Require-Preflight, CF-Turnstile-Response"
	corsResponseHeaders = "X-Request-Id, ETag, Retry-After, Content-Disposition"
	corsMethods         = "GET, HEAD, POST, OPTIONS"
	corsMaxAge          = "7200" // seconds a browser keeps a preflight's answer
)

// apply writes the headers of one answer and reports whether the request was a
// preflight that is answered with them alone.
func (c *cors) apply(h http.Header, r *http.Request) bool {
	if !c.any && len(c.origins) > 0 {
		h.Add("Vary", "Origin")
	}
	origin := first(r.Header, "Origin")
	if origin == "" || !c.any && !slices.Contains(c.origins, origin) {
		return false
	}
	if c.any {
		origin = "*"
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsResponseHeaders)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsRequestHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	return true
}
