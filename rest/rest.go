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
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/coding"
	"siteapi/schema/exec"
)

//go:embed operations/*.graphql
var operations embed.FS

// API serves every path below /api/. It is safe for concurrent use.
type API struct {
	routes    []*route
	patterns  []string                         // paths with variables
	paths     map[string]map[string]*operation // operations by path, then method
	downloads downloads
	openapi   []byte
	body      *coding.Body // holds openapi
	etag      string       // entity tag of openapi
}

// New compiles the operation documents against the schema. The error lists every problem
// in any of them, with its place and the remedy. The description states the service's
// version.
func New(executor Executor, version string) (*API, error) {
	documents, _ := fs.Sub(operations, "operations") // fails only if the name is malformed
	return newOf(documents, executor, version)
}

// newOf returns the API of some operation documents.
func newOf(documents fs.FS, executor Executor, version string) (*API, error) {
	routes, err := compile(exec.AST(), documents)
	if err != nil {
		return nil, err
	}

	a := &API{routes: routes, paths: map[string]map[string]*operation{}, downloads: newDownloads()}
	for _, rt := range routes {
		if a.paths[rt.path] == nil {
			a.paths[rt.path] = map[string]*operation{}
			if len(rt.segments) > 0 {
				a.patterns = append(a.patterns, rt.path)
			}
		}
		if a.paths[rt.path][rt.method], err = prepare(executor, rt); err != nil {
			return nil, err
		}
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
	Path      string // such as /api/quote/track; a segment {name} is a variable
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

// Pattern returns the path of the route that a request for a path means, or "" if there is
// none. Unlike the request's, it has no values of variables.
func (a *API) Pattern(path string) string {
	if a.paths[path] != nil {
		return path
	}
	for _, pattern := range a.patterns {
		if matches(pattern, path) {
			return pattern
		}
	}
	return ""
}

// ServeHTTP binds a request for a path below /api/ to the route's operation, runs it, and
// sends the value of its root field as JSON or as a download.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := a.operation(r)
	if op == nil {
		a.serveOther(w, r)
		return
	}

	schema.RecorderFrom(r.Context()).Operation(schema.Operation{
		Type:       string(op.op.Operation),
		Name:       op.op.Name,
		RootFields: []string{op.root.Name},
	})

	ctx, vars, problem := op.bind(w, r)
	if problem == nil && op.produces != "" {
		a.downloads.serve(ctx, w, r, op, vars)
		return
	}

	var value []byte
	if problem == nil {
		value, _, problem = op.run(ctx, vars, r.Header)
	}
	if problem != nil {
		WriteProblem(w, r, problem)
		return
	}

	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	coding.Write(w, r, http.StatusOK, coding.NewBody(value))
}

// operation returns the operation that a request asks for, or nil if there is none. A path
// spelt differently, with escapes or repeated slashes, is a different path.
func (a *API) operation(r *http.Request) *operation {
	if r.URL.RawPath != "" {
		return nil
	}

	methods := a.paths[a.Pattern(r.URL.Path)]
	if r.Method == http.MethodHead {
		return methods[http.MethodGet]
	}
	return methods[r.Method]
}

// serveOther answers a request that asks for no operation: with the description, with the
// methods of the path, or with an error.
func (a *API) serveOther(w http.ResponseWriter, r *http.Request) {
	methods := a.paths[a.Pattern(r.URL.Path)]
	isDescription := r.URL.Path == DescriptionPath
	if r.URL.RawPath != "" || methods == nil && !isDescription {
		WriteProblem(w, r, &schema.Error{
			Code:    schema.CodeNotFound,
			Message: "There is no route at this path. GET " + DescriptionPath + " lists the routes.",
		})
		return
	}

	if isDescription && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.Header().Set("ETag", a.etag)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Type", "application/json")
		coding.Write(w, r, http.StatusOK, a.body)
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

	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}

	WriteProblem(w, r, &schema.Error{
		Code:    schema.CodeMethodNotAllowed,
		Message: "This path answers to " + w.Header().Get("Allow") + ".",
	})
}
