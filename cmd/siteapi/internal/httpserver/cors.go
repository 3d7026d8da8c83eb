package httpserver

import (
	"net/http"
	"slices"
)

// cors lets the site's pages call the service from a browser.
type cors struct {
	any     bool
	origins []string
}

func newCORS(origins []string) cors {
	return cors{any: slices.Contains(origins, "*"), origins: origins}
}

// Headers a page may send and read beyond those every page may.
const (
	corsRequestHeaders  = "Authorization, Content-Type, Idempotency-Key, X-Request-Id, Apollo-Require-Preflight, CF-Turnstile-Response"
	corsResponseHeaders = "X-Request-Id, ETag, Retry-After, Content-Disposition, X-Dropped-Fields"
	corsMethods         = "GET, HEAD, POST, OPTIONS"
	corsMaxAge          = "7200" // seconds a browser keeps a preflight's answer
)

// allowOrigins answers preflight requests and lets allowed pages read responses.
func (s *Server) allowOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cors.apply(w.Header(), r) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// apply writes the headers of one response and reports whether the request was a
// preflight, which they answer.
func (c cors) apply(h http.Header, r *http.Request) bool {
	if !c.any && len(c.origins) > 0 {
		h.Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
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
