// Package rest serves the service's REST routes. It has no behaviour of its own: each
// route is one operation document with a @rest directive, compiled against the schema when
// the process starts and run by the executor that also serves GraphQL. A
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
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

// API serves every path below /api/. It is safe for concurrent use.
type API struct {
	executor  operations.Executor
	routes    []*route
	mux       *http.ServeMux // finds the pattern of a route
	byPattern map[string]*route
	downloads downloads
	openapi   []byte
	etag      string // entity tag of openapi
}

// New returns the API of the operations that have @rest. The error lists every problem in any
// of them, with its place and the remedy. The description states the service's version.
func New(list []*operations.Operation, executor operations.Executor, version string) (*API, error) {
	routes, mux, err := compile(list)
	if err != nil {
		return nil, fmt.Errorf("compiling the REST routes:\n%w", err)
	}

	a := &API{
		executor:  executor,
		routes:    routes,
		mux:       mux,
		byPattern: map[string]*route{},
		downloads: newDownloads(),
	}
	for _, rt := range routes {
		a.byPattern[rt.pattern()] = rt
	}
	if a.openapi, err = describe(exec.AST(), routes, version); err != nil {
		return nil, err
	}

	sum := sha256.Sum256(a.openapi)
	a.etag = `W/"` + hex.EncodeToString(sum[:16]) + `"`
	return a, nil
}

// Route describes a route for limits and metrics.
type Route struct {
	Method string // GET or POST
	Path   string // such as /api/quote/track; a segment {name} is a variable
	Field  *ast.FieldDefinition
}

// Routes lists the routes by path and method.
func (a *API) Routes() []Route {
	list := make([]Route, len(a.routes))
	for i, rt := range a.routes {
		list[i] = Route{rt.method, rt.path, rt.Root.Definition}
	}
	return list
}

// Description returns the OpenAPI description, as JSON.
func (a *API) Description() []byte { return a.openapi }

// Pattern returns the path of the route that a request for a path means, or "" if there is
// none. Unlike the request's, it has no values of variables.
func (a *API) Pattern(path string) string {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if rt := a.route(method, path); rt != nil {
			return rt.path
		}
	}
	return ""
}

// route returns the route that a method and a path mean, or nil if there is none. A path
// spelt differently, with repeated slashes, is a different path.
func (a *API) route(method, name string) *route {
	if path.Clean(name) != name {
		return nil // the mux would redirect to the clean path
	}
	_, pattern := a.mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: name}})
	return a.byPattern[pattern]
}

// ServeHTTP binds a request to the operation of its route, runs it, and sends the value of its
// root field as JSON or as a download.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt := a.route(r.Method, r.URL.Path)
	if rt == nil || r.URL.RawPath != "" {
		a.serveOther(w, r)
		return
	}
	schema.RecorderFrom(r.Context()).Operation(schema.Operation{
		Type:       string(rt.OperationDefinition.Operation),
		Name:       rt.Name,
		RootFields: []string{rt.Root.Name},
	})

	ctx, vars, problem := rt.bind(w, r, a.executor)
	if problem != nil {
		WriteProblem(w, r, problem)
		return
	}
	if rt.produces != "" && a.downloads.repeat(w, r) {
		return
	}

	value, file, problem := rt.Run(ctx, a.executor, vars, r.Header)
	if problem == nil && string(value) == "null" {
		problem = schema.NotFound("Nothing was found with these parameters.")
	}
	switch {
	case problem != nil:
		problem.Fields = rt.sentNames(problem.Fields)
		WriteProblem(w, r, problem)
	case rt.produces != "":
		a.downloads.serve(w, r, value, file)
	default:
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		schema.WriteBody(w, r, http.StatusOK, value)
	}
}

// serveOther answers a request that asks for no operation: with the description, with the
// methods of the path, or with an error.
func (a *API) serveOther(w http.ResponseWriter, r *http.Request) {
	get, post := a.route(http.MethodGet, r.URL.Path), a.route(http.MethodPost, r.URL.Path)
	isDescription := r.URL.Path == DescriptionPath
	if r.URL.RawPath != "" || get == nil && post == nil && !isDescription {
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
		schema.WriteBody(w, r, http.StatusOK, a.openapi)
		return
	}

	var allow []string
	if get != nil || isDescription {
		allow = append(allow, http.MethodGet, http.MethodHead)
	}
	if post != nil {
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
