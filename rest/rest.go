// Package rest serves the service's REST routes. It has no behavior of its own: each
// route is one operation document with a @rest directive, compiled against the schema
// when the process starts and run by the executor that also serves GraphQL. A request is
// bound to the operation's variables, the operation runs in process, and the value of its
// single root field becomes the response. A download that has not changed is sent again
// without running its operation. The OpenAPI description is generated from the same
// documents and schema.
//
// Known limits: a variable from the query string or a form cannot be a list, and a
// response is JSON, a page, a redirect or one download without ranges.
package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/maypok86/otter/v2"

	"siteapi/schema"
	"siteapi/schema/operations"
	"siteapi/schema/request"
)

// DescriptionPath is where the OpenAPI description is served.
const DescriptionPath = "/api/openapi.json"

// API serves the routes and their description. It is safe for concurrent use.
type API struct {
	*http.ServeMux
	Paths []Path // the routes by path

	pages     []string // paths that browsers open as pages
	executor  operations.Executor
	downloads *otter.Cache[string, *download]
	openapi   []byte
	etag      string // entity tag of openapi
}

// New returns the API of the operations that have @rest. The error lists all problems of
// all operations, with their positions and remedies. The description states the service's
// version.
func New(list []*operations.Operation, executor operations.Executor, version string) (*API, error) {
	paths, err := compile(list)
	if err != nil {
		return nil, fmt.Errorf("compiling the REST routes:\n%w", err)
	}
	a := &API{
		ServeMux:  http.NewServeMux(),
		Paths:     paths,
		pages:     pageOf(paths),
		executor:  executor,
		downloads: otter.Must(&otter.Options[string, *download]{MaximumSize: maxDownloads}),
	}
	if a.openapi, err = describe(paths, version); err != nil {
		return nil, fmt.Errorf("writing the OpenAPI description: %w", err)
	}
	sum := sha256.Sum256(a.openapi)
	a.etag = `W/"` + hex.EncodeToString(sum[:16]) + `"`

	a.Handle(DescriptionPath, Methods{http.MethodGet: http.HandlerFunc(a.serveDescription)})
	for _, path := range paths {
		methods := Methods{}
		for _, rt := range path.Routes {
			methods[rt.Method] = a.handler(rt)
		}
		a.Handle(path.Path, methods)
	}
	return a, nil
}

func (a *API) serveDescription(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", a.etag)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Content-Type", "application/json")
	request.WriteBody(w, r, http.StatusOK, a.openapi)
}

// handler binds a request to the operation of a route, runs it, and sends the value of its
// root field as JSON, a redirect, a page or a download. An error may come with a page of its
// own, for browsers.
func (a *API) handler(rt *Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request.RecordFrom(r.Context()).Operation = rt.Summary()

		ctx, vars, problem := rt.bind(w, r, a.executor)
		if problem != nil {
			a.WriteError(w, r, problem)
			return
		}
		isPage := rt.Produces == "text/html"
		if rt.Produces != "" && !isPage &&
			request.CallerFrom(ctx).Preview == "" && a.repeat(w, r) {
			return
		}

		value, file, problem := rt.Run(ctx, a.executor, vars)
		switch {
		case problem != nil && file != nil && a.opensPage(r):
			request.RecordFrom(ctx).Refuse(problem.Code, nil)
			writePage(w, r, problem.Code.Status(), file)
		case problem != nil:
			problem.Fields = rt.sentNames(problem.Fields)
			a.WriteError(w, r, problem)
		case rt.Form:
			redirect(w, r, value)
		case isPage:
			writePage(w, r, http.StatusOK, file)
		case rt.Produces != "":
			a.download(w, r, value, file)
		default:
			w.Header().Set("Cache-Control", "no-store")
			if rt.Root.Definition.Directives.ForName("cacheControl") != nil { // revalidated before each use
				sum := sha256.Sum256(value)
				w.Header().Set("ETag", `W/"`+hex.EncodeToString(sum[:16])+`"`)
				w.Header().Set("Cache-Control", "public, max-age=0, must-revalidate")
			}
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			request.WriteBody(w, r, http.StatusOK, value)
		}
	})
}

// Methods serves a path with one handler per method: GET, POST or DELETE. GET also serves
// HEAD.
type Methods map[string]http.Handler

// ServeHTTP implements [http.Handler].
func (m Methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h := m[method]; h != nil {
		h.ServeHTTP(w, r)
		return
	}

	var allow []string
	if m[http.MethodGet] != nil {
		allow = append(allow, http.MethodGet, http.MethodHead)
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		if m[method] != nil {
			allow = append(allow, method)
		}
	}
	allowed := strings.Join(append(allow, http.MethodOptions), ", ")
	w.Header().Set("Allow", allowed)

	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	WriteProblem(w, r, schema.NewError(schema.CodeMethodNotAllowed, "This path supports "+allowed+"."))
}
