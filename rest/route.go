package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// route is one compiled operation document.
type route struct {
	file, text string
	doc        *ast.QueryDocument
	op         *ast.OperationDefinition
	root       *ast.Field
	position   *ast.Position // of @rest

	name, summary, description string
	method, path               string
	params                     []param
	body                       *bodySource // nil: none
	download                   bool
	localised                  bool       // a download that says its language
	produces                   string     // media type of a download, for the description
	prefix                     string     // what stands before the root field's value in the executor's data
	example                    *ast.Value // nil: no variables
}

// public leaves out what is nobody else's business.
func (rt *route) public() Route {
	r := Route{Method: rt.method, Path: rt.path, Operation: rt.name, Field: rt.root.Definition}
	if rt.body != nil {
		r.BodyLimit = rt.body.limit
	}
	return r
}

// resource is everything at one path.
type resource struct {
	get, post *route
	serveGet  http.HandlerFunc // in place of a route
	allow     string
}

// newResources puts the routes and the description under their paths.
func newResources(a *API) map[string]*resource {
	m := map[string]*resource{DescriptionPath: {serveGet: a.openapi.ServeHTTP}}
	for _, rt := range a.routes {
		res := m[rt.path]
		if res == nil {
			res = &resource{}
			m[rt.path] = res
		}
		if rt.method == http.MethodGet {
			res.get = rt
		} else {
			res.post = rt
		}
	}
	for _, res := range m {
		var allow []string
		if res.get != nil || res.serveGet != nil {
			allow = append(allow, http.MethodGet, http.MethodHead)
		}
		if res.post != nil {
			allow = append(allow, http.MethodPost)
		}
		res.allow = strings.Join(append(allow, http.MethodOptions), ", ")
	}
	return m
}

// resource returns what is at a request's path, nil where there is nothing. A path
// that is spelt in another way, with escapes or more slashes, is another path.
func (a *API) resource(r *http.Request) *resource {
	if r.URL.RawPath != "" {
		return nil
	}
	return a.resources[r.URL.Path]
}

// route returns the route for a method, nil where the path has none.
func (res *resource) route(method string) *route {
	switch method {
	case http.MethodGet, http.MethodHead:
		return res.get
	case http.MethodPost:
		return res.post
	default:
		return nil
	}
}

// ServeHTTP serves a request for a path below /api/.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	res := a.resource(r)
	if res == nil {
		WriteProblem(w, r, a.options.Caller(w, r).RequestID, &schema.Error{
			Code: schema.CodeNotFound, Message: "There is no route at this path. GET " + DescriptionPath + " lists them.",
		})
		return
	}
	if rt := res.route(r.Method); rt != nil {
		a.serve(w, r, rt)
		return
	}
	switch {
	case res.serveGet != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		res.serveGet(w, r)
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", res.allow)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", res.allow)
		WriteProblem(w, r, a.options.Caller(w, r).RequestID, &schema.Error{
			Code: schema.CodeMethodNotAllowed, Message: "This path answers to " + res.allow + ".",
		})
	}
}

// guarded tells whether the schema lets only holders of a token use the root field.
func (rt *route) guarded() bool { return rt.root.Definition.Directives.ForName("auth") != nil }

// takesMedia tells whether a body may be sent as this type.
func (b *bodySource) takesMedia(media string) bool { return slices.Contains(b.accepts, media) }
