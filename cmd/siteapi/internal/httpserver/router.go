package httpserver

import (
	"net/http"
	"path"
	"strings"
	"time"

	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/cmd/siteapi/internal/pages"
	"siteapi/rest"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Paths of endpoints that are not REST routes.
const (
	GraphQLPath = "/graphql"
	livePath    = "/healthz"
	readyPath   = "/readyz"
)

// newRoutes returns the mux of all endpoints.
func (s *Server) newRoutes() *http.ServeMux {
	operators := inbox.New(inbox.Options{
		Tokens:   s.Settings.AdminTokens,
		SignIn:   s.SignIn,
		GraphQL:  s.InboxGraphQL,
		Workbook: s.Workbook,
		Page:     s.Pages[inbox.Path],
		Now:      time.Now,
	})

	mux := http.NewServeMux()
	for at, page := range s.Pages {
		methods := rest.Methods{http.MethodGet: page}
		switch {
		case at == inbox.Path:
		case at == "/":
			mux.Handle("/{$}", methods)
			mux.Handle("/assets/", methods)
		case path.Ext(at) != "": // a file
			mux.Handle(at, methods)
		default:
			mux.Handle(at, methods)
			mux.Handle(at+"/", methods)
		}
	}

	mux.Handle(rest.DescriptionPath, s.REST)
	for _, path := range s.REST.Paths {
		mux.Handle(path.Path, s.REST)
	}
	mux.Handle(GraphQLPath, s.GraphQL)
	mux.Handle(livePath, rest.Methods{http.MethodGet: http.HandlerFunc(live)})
	mux.Handle(readyPath, rest.Methods{http.MethodGet: http.HandlerFunc(s.ready)})
	if s.MCP != nil {
		mux.Handle(mcp.Path, s.MCP)
	}
	if s.Settings.MCPSignIn {
		mux.Handle(inbox.ResourcePath, s.SignIn.Authenticate(s.MCP))
		for path, handler := range s.SignIn.AssistantHandlers() {
			mux.Handle(path, handler)
		}
	}
	for _, path := range []string{
		inbox.Path, inbox.Path + "/", inbox.OperatorPath, inbox.GraphQLPath, inbox.LoginPath,
		inbox.CallbackPath,
		inbox.AssistantPath, inbox.WorkbookPath,
	} {
		mux.Handle(path, operators)
	}
	return mux
}

// route passes a request to its endpoint. The inbox is served only where operators'
// fields are.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	isInbox := r.Pattern == inbox.Path || strings.HasPrefix(r.Pattern, inbox.Path+"/")
	if r.Pattern == "" || isInbox && !request.CallerFrom(r.Context()).Operators {
		s.writeError(w, r, schema.NotFound("There is no such route."))
		return
	}
	if s.opensPlayground(r) {
		w.Header().Add("Vary", "Accept")
		http.Redirect(w, r, pages.PlaygroundPath, http.StatusFound)
		return
	}

	recordOf(r.Context()).endpoint.ServeHTTP(w, r)
}

// endpoint returns the handler of a request and its pattern, which is safe to log. The
// pattern is empty for an unknown path. Paths must match exactly, while the mux would
// redirect others to the clean path.
func (s *Server) endpoint(r *http.Request) (h http.Handler, pattern string) {
	clean := path.Clean(r.URL.Path)
	if r.URL.RawPath != "" || clean != r.URL.Path && clean+"/" != r.URL.Path {
		return nil, ""
	}
	h, pattern = s.routes.Handler(r)
	return h, strings.TrimSuffix(pattern, "{$}")
}

// opensPlayground reports whether a browser opens the GraphQL endpoint as a page and the
// playground is on.
func (s *Server) opensPlayground(r *http.Request) bool {
	return s.Pages[pages.PlaygroundPath] != nil && r.URL.Path == GraphQLPath &&
		r.Method == http.MethodGet && r.URL.RawQuery == "" &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// isProbe reports whether a request is a health check. Health checks are never limited.
func isProbe(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		(r.URL.Path == livePath || r.URL.Path == readyPath)
}
