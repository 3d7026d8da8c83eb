package httpserver

import (
	"maps"
	"net/http"
	"strings"
	"time"

	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/cmd/siteapi/internal/pages"
	"siteapi/rest"
	"siteapi/schema"
)

// Paths of endpoints other than the routes of REST.
const (
	GraphQLPath = "/graphql"
	livePath    = "/healthz"
	readyPath   = "/readyz"
)

// newRoutes returns the endpoints by path. Paths must match exactly: they are not
// cleaned, except by the muxes of the admin listener and of the inbox. A path that ends
// in a slash covers everything below it.
func (s *Server) newRoutes() map[string]http.Handler {
	operators := inbox.New(inbox.Options{
		Tokens:  s.Settings.AdminTokens,
		SignIn:  s.SignIn,
		GraphQL: s.InboxGraphQL,
		Page:    s.Pages[inbox.Path],
		Now:     time.Now,
	})

	routes := map[string]http.Handler{}
	for path, page := range s.Pages {
		files := path + "/"
		if path == "/" {
			files = "/assets/"
		}
		routes[path], routes[files] = readOnly(page), readOnly(page)
	}
	for _, route := range s.REST.Routes() {
		routes[route.Path] = s.REST
	}

	maps.Copy(routes, map[string]http.Handler{
		GraphQLPath:          s.GraphQL,
		"/api/":              s.REST,
		rest.DescriptionPath: s.REST,
		livePath:             readOnly(http.HandlerFunc(live)),
		readyPath:            readOnly(http.HandlerFunc(s.ready)),
		inbox.Path:           operators,
		inbox.Path + "/":     operators,
		inbox.SessionPath:    operators,
		inbox.GraphQLPath:    operators,
		inbox.LoginPath:      operators,
		inbox.CallbackPath:   operators,
	})

	if s.MCP != nil {
		routes[mcp.Path] = s.MCP
	}
	return routes
}

// route sends a request to its endpoint. The endpoints include the inbox where operator
// fields are served.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	below := "/" + first + "/"
	h := s.routes[r.URL.Path]
	if h == nil {
		h = s.routes[below]
	}

	operators := schema.CallerFrom(r.Context()).Operators
	if h == nil || below == inbox.Path+"/" && !operators {
		WriteError(w, r, &schema.Error{Code: schema.CodeNotFound, Message: "There is no such route."})
		return
	}
	if s.opensPlayground(r) {
		w.Header().Add("Vary", "Accept")
		http.Redirect(w, r, pages.PlaygroundPath, http.StatusFound)
		return
	}

	h.ServeHTTP(w, r)
}

// pattern returns the path of the route that a request for a path means, or "" if there is
// none. It has no values of variables, which belong in no log.
func (s *Server) pattern(path string) string {
	if s.routes[path] != nil {
		return path
	}
	return s.REST.Pattern(path)
}

// opensPlayground reports whether a browser opens the GraphQL endpoint of a service that has
// a playground.
func (s *Server) opensPlayground(r *http.Request) bool {
	return s.Pages[pages.PlaygroundPath] != nil && r.URL.Path == GraphQLPath &&
		r.Method == http.MethodGet && r.URL.RawQuery == "" &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
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
			WriteError(w, r, &schema.Error{
				Code:    schema.CodeMethodNotAllowed,
				Message: "This path answers to " + allowed + ".",
			})
		}
	})
}

// isProbe reports whether a request is a health check. Health checks are never limited.
func isProbe(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		(r.URL.Path == livePath || r.URL.Path == readyPath)
}
