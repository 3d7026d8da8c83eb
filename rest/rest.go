// Package rest serves the service's REST routes. It has no behaviour of its own: each
// route is one GraphQL operation document with a @rest directive, compiled against the
// schema when the process starts and run by the executor that also serves GraphQL. A
// request is bound to the operation's variables, the operation runs in process, and the
// value of its single root field becomes the response. A download that has not changed is
// sent again without running its operation. The OpenAPI description is generated from the
// same documents and schema.
//
// Known limits: a variable from the query string cannot be a list, and a response is
// either JSON or one download without ranges.
package rest

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/maypok86/otter/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/coding"
	"siteapi/schema/exec"
)

//go:embed operations/*.graphql
var operations embed.FS

// DescriptionPath is where the OpenAPI description is served.
const DescriptionPath = "/api/openapi.json"

// Executor runs the operations.
type Executor interface {
	graphql.GraphExecutor

	// CheckToken returns an error if the guard of a root field refuses the caller's
	// token. It is called before the body is read.
	CheckToken(ctx context.Context, field *ast.FieldDefinition) error

	// Authorize returns an error if the guard of a root field refuses the caller's token
	// or the signature of the caller's body.
	Authorize(ctx context.Context, field *ast.FieldDefinition) error

	// Admit adds defaults to the variables and returns an error if the operation may not
	// run with them. Fields that an input type does not have may be ignored.
	Admit(
		ctx context.Context, op *ast.OperationDefinition, variables map[string]any, ignoreUnknown bool,
	) error

	// Pin caches a validated document permanently, so that nothing is parsed while
	// requests are served.
	Pin(query string, doc *ast.QueryDocument)
}

// API serves every path below /api/. It is safe for concurrent use.
type API struct {
	executor  Executor
	routes    []*route
	paths     map[string]map[string]*route // routes by path, then method
	downloads *otter.Cache[downloadKey, *download]
	openapi   []byte
	body      *coding.Body // holds openapi
	etag      string       // entity tag of openapi
}

// New compiles the operation documents against the schema. The error lists every problem
// in any of them, with its place and the remedy. The description states the service's
// version.
func New(executor Executor, version string) (*API, error) {
	documents, _ := fs.Sub(operations, "operations") // fails only if the name is malformed
	routes, err := compile(exec.AST(), documents)
	if err != nil {
		return nil, err
	}

	a := &API{executor: executor, routes: routes, paths: map[string]map[string]*route{}}
	a.downloads = otter.Must(&otter.Options[downloadKey, *download]{MaximumSize: maxDownloads})

	for _, rt := range routes {
		if a.paths[rt.path] == nil {
			a.paths[rt.path] = map[string]*route{}
		}
		a.paths[rt.path][rt.method] = rt
		executor.Pin(rt.text, rt.withoutVariables())
	}

	if a.openapi, err = describe(exec.AST(), routes, version); err != nil {
		return nil, err
	}

	a.body = coding.NewBody(a.openapi)
	sum := sha256.Sum256(a.openapi)
	a.etag = `"` + hex.EncodeToString(sum[:16]) + `"`
	return a, nil
}

// Route describes a route for limits and metrics.
type Route struct {
	Method    string // GET or POST
	Path      string // such as /api/quote/track
	Operation string // name of the operation, such as TrackQuote
	Field     *ast.FieldDefinition
}

// Routes lists the routes by path and method.
func (a *API) Routes() []Route {
	list := make([]Route, len(a.routes))
	for i, rt := range a.routes {
		list[i] = Route{Method: rt.method, Path: rt.path, Operation: rt.op.Name, Field: rt.root.Definition}
	}
	return list
}

// Description returns the OpenAPI description, as JSON.
func (a *API) Description() []byte { return a.openapi }

// ServeHTTP serves a request for a path below /api/. A path spelt differently, with
// escapes or repeated slashes, is a different path.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	methods := a.paths[r.URL.Path]
	isDescription := r.URL.Path == DescriptionPath
	if r.URL.RawPath != "" || methods == nil && !isDescription {
		WriteProblem(w, r, &schema.Error{
			Code:    schema.CodeNotFound,
			Message: "There is no route at this path. GET " + DescriptionPath + " lists the routes.",
		})
		return
	}

	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}

	if rt := methods[method]; rt != nil {
		a.serve(w, r, rt)
		return
	}
	if isDescription && method == http.MethodGet {
		w.Header().Set("ETag", a.etag)
		w.Header().Set("Cache-Control", "no-cache")
		write(w, r, http.StatusOK, "application/json", a.body)
		return
	}

	var allow []string
	if methods[http.MethodGet] != nil || isDescription {
		allow = append(allow, http.MethodGet, http.MethodHead)
	}
	if methods[http.MethodPost] != nil {
		allow = append(allow, http.MethodPost)
	}
	w.Header().Set("Allow", strings.Join(append(allow, http.MethodOptions), ", "))

	if method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}

	WriteProblem(w, r, &schema.Error{
		Code:    schema.CodeMethodNotAllowed,
		Message: "This path answers to " + w.Header().Get("Allow") + ".",
	})
}
