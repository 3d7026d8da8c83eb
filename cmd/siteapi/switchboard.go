package main

import (
	"net/http"
	"strings"

	"siteapi/rest"
	"siteapi/schema"
)

// switchboard sends a request to its door. Paths are taken to the letter: nothing is
// cleaned or redirected, so a path that is not known is not found.
type switchboard struct {
	graphql    http.Handler
	rest       http.Handler
	playground http.Handler            // nil: there is none
	exact      map[string]http.Handler // by path
}

// ServeHTTP sends one request to its door.
func (s *switchboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == graphqlPath:
		s.graphql.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/api/"):
		s.rest.ServeHTTP(w, r)
	case s.playground != nil && (path == playgroundPath || strings.HasPrefix(path, playgroundPath+"/")):
		s.playground.ServeHTTP(w, r)
	default:
		if h, ok := s.exact[path]; ok {
			h.ServeHTTP(w, r)
			return
		}
		rest.WriteProblem(w, r, &schema.Error{Code: schema.CodeNotFound, Message: "There is no such route."})
	}
}

// readOnly answers OPTIONS, and 405 to every method but GET and HEAD.
func readOnly(next http.Handler) http.Handler {
	const allowed = "GET, HEAD, OPTIONS"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			next.ServeHTTP(w, r)
		case http.MethodOptions:
			w.Header().Set("Allow", allowed)
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", allowed)
			refuse(w, r, &schema.Error{Code: schema.CodeMethodNotAllowed, Message: "This path answers to " + allowed + "."})
		}
	})
}

// graphqlPath is where the GraphQL door is, trackPath where sessions are tracked.
const (
	graphqlPath = "/graphql"
	trackPath   = "/api/quote/track"
)
