// Package rest serves the service's REST routes. It has no behaviour of its own:
// each route is one GraphQL operation document carrying a @rest directive, compiled
// against the schema when the process starts and run through the executor that
// serves GraphQL too. A request is bound to the operation's variables, the operation
// runs in process, and the value of its single root field becomes the answer. The
// OpenAPI description is generated from the same documents and the same schema.
//
// Known limits: variables from the query string are scalars or enums, never lists;
// an answer is either JSON or one download; ranges of a download are not served.
package rest

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

//go:embed operations/*.graphql
var operations embed.FS

// DescriptionPath is where the OpenAPI description is served.
const DescriptionPath = "/api/openapi.json"

// Options adjusts an API. The zero value serves the service's own documents.
type Options struct {
	// Documents holds the operation documents, *.graphql at its root; nil: the service's own.
	Documents fs.FS
	// Authorize returns an error where a root field's guard refuses the caller. It is asked
	// before the adapter complains of a request by itself, so that a caller without a token
	// learns nothing else. The caller's Body is nil where the body was too large to be read.
	// Nil: nobody is refused before the executor does.
	Authorize func(ctx context.Context, field *ast.FieldDefinition) error
	// Caller says who sent the request that is answered by w. Nil: the caller in the
	// request's context, or one made from its headers and a random id.
	Caller func(w http.ResponseWriter, r *http.Request) *schema.Caller
	// OnKept is told of each answer by w that was made before and sent again. Nil: nobody
	// is told.
	OnKept func(w http.ResponseWriter)
	// Version is the service's version, for the OpenAPI description; empty: "0.0.0".
	Version string
}

// Pinner is an executor that keeps a validated document for good, by its exact text,
// so that nothing is parsed or validated while requests are served.
type Pinner interface {
	Pin(query string, doc *ast.QueryDocument)
}

// API serves every path below /api/. It is immutable and safe for concurrent use.
type API struct {
	exec      graphql.GraphExecutor
	resources map[string]*resource
	routes    []*route
	options   Options
	openapi   static
	files     *files
}

// New compiles the operation documents against the schema. Every problem in any of
// them is in the returned error, a *CompileError, with its place and what to do. Where
// the executor is a Pinner the documents are pinned.
func New(exec graphql.GraphExecutor, s *ast.Schema, o Options) (*API, error) {
	if o.Documents == nil {
		own, err := fs.Sub(operations, "operations")
		if err != nil {
			return nil, err
		}
		o.Documents = own
	}
	if o.Caller == nil {
		o.Caller = callerOf
	}
	routes, err := compile(s, o.Documents)
	if err != nil {
		return nil, err
	}
	a := &API{exec: exec, routes: routes, options: o}
	a.openapi, err = describe(s, routes, o.Version)
	if err != nil {
		return nil, err
	}
	if a.files, err = newFiles(); err != nil {
		return nil, fmt.Errorf("making room for downloads: %w", err)
	}
	a.resources = newResources(a)
	if p, ok := exec.(Pinner); ok {
		for _, rt := range routes {
			p.Pin(rt.text, rt.doc)
		}
	}
	return a, nil
}

// Route is what the surroundings of the API may want to know of a route, for limits,
// metrics and logs.
type Route struct {
	Method    string // GET or POST
	Path      string // such as /api/quote/track
	Operation string // name of the operation, such as TrackQuote
	Field     *ast.FieldDefinition
	BodyLimit int64 // bytes; 0: the route takes no body
}

// Routes lists the routes by path and method.
func (a *API) Routes() []Route {
	list := make([]Route, len(a.routes))
	for i, rt := range a.routes {
		list[i] = rt.public()
	}
	return list
}

// Match returns the route that serves a request, a HEAD request being served by the
// GET route. False: none does.
func (a *API) Match(r *http.Request) (Route, bool) {
	res := a.resource(r)
	if res == nil {
		return Route{}, false
	}
	rt := res.route(r.Method)
	if rt == nil {
		return Route{}, false
	}
	return rt.public(), true
}

// Description returns the OpenAPI description, as JSON.
func (a *API) Description() []byte { return a.openapi.body }
