package httpserver

import (
	"net/http"
	"strings"

	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/rest"
	"siteapi/schema"
	"siteapi/schema/playground"
)

// Paths of the endpoints beside those of REST.
const (
	GraphQLPath = "/graphql"
	AdminPath   = inbox.Path
	livePath    = "/healthz"
	readyPath   = "/readyz"
)

// router sends a request to its endpoint. Paths must match exactly: they are neither cleaned
// nor redirected. If operators are served, it has the inbox, and GraphQL answers their
// fields.
func (s *Server) router(operators bool) http.Handler {
	exact := map[string]http.Handler{
		GraphQLPath: s.GraphQL,
		livePath:    readOnly(http.HandlerFunc(s.Health.live)),
		readyPath:   readOnly(http.HandlerFunc(s.Health.ready)),
	}
	if s.Pages[playground.Path] != nil {
		exact[GraphQLPath] = redirectBrowsers(s.GraphQL)
	}
	below := map[string]http.Handler{"/api": s.REST} // with everything below the path
	if operators {
		below[AdminPath] = s.Inbox
	}
	for path, page := range s.Pages {
		below[path] = readOnly(page)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		schema.CallerFrom(r.Context()).Operator = operators
		h := exact[r.URL.Path]
		if h == nil {
			h = below[firstSegment(r.URL.Path)]
		}
		if h == nil {
			WriteError(w, r, &schema.Error{Code: schema.CodeNotFound, Message: "There is no such route."})
			return
		}
		h.ServeHTTP(w, r)
	})
}

// firstSegment returns the path of the page that a path is, or is a file of. Files of the
// page at / are in its folder assets.
func firstSegment(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if first == "assets" {
		return "/"
	}
	return "/" + first
}

// redirectBrowsers sends a browser that opens the address of GraphQL to the playground.
func redirectBrowsers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.RawQuery == "" && strings.Contains(r.Header.Get("Accept"), "text/html") {
			w.Header().Set("Vary", "Accept")
			http.Redirect(w, r, playground.Path, http.StatusFound)
			return
		}
		next.ServeHTTP(w, r)
	})
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
			WriteError(w, r, &schema.Error{Code: schema.CodeMethodNotAllowed, Message: "This path answers to " + allowed + "."})
		}
	})
}

// isProbe reports whether a request is a health check. These are never limited.
func isProbe(r *http.Request) bool { return r.URL.Path == livePath || r.URL.Path == readyPath }

// routeNames returns the paths that name a route in metrics and traces.
func routeNames(o Options) map[string]bool {
	names := map[string]bool{
		GraphQLPath: true, livePath: true, readyPath: true, rest.DescriptionPath: true,
		inbox.Path: true, inbox.SessionPath: true, inbox.GraphQLPath: true,
	}
	for _, route := range o.REST.Routes() {
		names[route.Path] = true
	}
	for path := range o.Pages {
		names[path] = true
	}
	return names
}
