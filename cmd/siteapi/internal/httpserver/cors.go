package httpserver

import (
	"net/http"
	"slices"
)

// Headers a page may send and read beyond those every page may.
const (
	corsRequestHeaders  = "Authorization, Content-Type, Idempotency-Key, X-Request-Id, Apollo-Require-Preflight, CF-Turnstile-Response"
	corsResponseHeaders = "X-Request-Id, ETag, Retry-After, Content-Disposition, X-Dropped-Fields"
	corsMethods         = "GET, HEAD, POST, OPTIONS"
	corsMaxAge          = "7200" // seconds a browser keeps a preflight's answer
)

// allowOrigins answers preflight requests and lets pages of the site read responses.
func (s *Server) allowOrigins(next http.Handler) http.Handler {
	anyOrigin := slices.Contains(s.CORSOrigins, "*")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, origin := w.Header(), r.Header.Get("Origin")
		if !anyOrigin && len(s.CORSOrigins) > 0 {
			h.Add("Vary", "Origin")
		}
		if origin == "" || !anyOrigin && !slices.Contains(s.CORSOrigins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		if anyOrigin {
			origin = "*"
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", corsResponseHeaders)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsRequestHeaders)
			h.Set("Access-Control-Max-Age", corsMaxAge)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
