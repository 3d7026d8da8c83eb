package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/schema"
)

// serve answers a request with what a route's operation gives.
func (a *API) serve(w http.ResponseWriter, r *http.Request, rt *route) {
	if rt.download && a.serveKept(w, r, rt) {
		return
	}
	caller := a.options.Caller(w, r)
	ctx := schema.WithCaller(r.Context(), caller)
	caller.Summary.Operation, caller.Summary.RootFields = string(rt.op.Operation), []string{rt.root.Name}
	vars := make(map[string]any, 1)
	problem := a.authorize(ctx, rt) // the token, before the body is read
	if problem == nil {
		problem = a.bindBody(ctx, w, r, rt, vars)
	}
	if problem == nil {
		problem = rt.bindQuery(r, vars)
	}
	if problem != nil {
		WriteProblem(w, r, caller.RequestID, problem)
		return
	}
	if rt.download {
		a.serveDownload(ctx, w, r, rt, vars)
		return
	}
	value, problem := a.run(ctx, rt, vars, r.Header)
	if problem != nil {
		WriteProblem(w, r, caller.RequestID, problem)
		return
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = noStore
	if len(value) > countedBody || r.Method == http.MethodHead {
		h["Content-Length"] = []string{strconv.Itoa(len(value))}
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(value) // a client that is gone can't be told
	}
}

// countedBody is the size in bytes up to which the server counts an answer itself, with
// less work than a header takes: an answer that fits into its buffer.
const countedBody = 2048

// Header values that never change. They are handed out as they are, which spares an
// allocation each: nobody appends to them in place, since they have no room.
var (
	jsonType = []string{"application/json; charset=utf-8"}
	noStore  = []string{"no-store"}
)

// authorize returns the error of a root field's guard: of the token, and once the
// caller's Body is set, of its signature.
func (a *API) authorize(ctx context.Context, rt *route) *schema.Error {
	if a.options.Authorize == nil {
		return nil
	}
	err := a.options.Authorize(ctx, rt.root.Definition)
	var known *schema.Error
	if err == nil || errors.As(err, &known) {
		return known
	}
	return &schema.Error{Code: schema.CodeInternal, Err: err}
}

// run executes a route's operation and returns the value of its root field, as JSON.
func (a *API) run(ctx context.Context, rt *route, vars map[string]any, h http.Header) ([]byte, *schema.Error) {
	ctx = graphql.StartOperationTrace(ctx)
	op, errs := a.exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: rt.text, OperationName: rt.name, Variables: vars, Headers: h,
	})
	if len(errs) > 0 {
		return nil, ProblemOf(a.exec.DispatchError(graphql.WithOperationContext(ctx, op), errs).Errors)
	}
	next, ctx := a.exec.DispatchOperation(ctx, op)
	res := next(ctx)
	if res == nil { // the context ended before the operation did
		return nil, &schema.Error{Code: schema.CodeUpstreamUnavailable, Message: "The request took too long.", Err: ctx.Err()}
	}
	if len(res.Errors) > 0 {
		return nil, ProblemOf(res.Errors)
	}
	return rt.value(res.Data)
}

// value cuts the root field's value out of an executor's data, which is an object with
// that one member.
func (rt *route) value(data []byte) ([]byte, *schema.Error) {
	n := len(data)
	if n <= len(rt.prefix) || !strings.HasPrefix(string(data[:len(rt.prefix)]), rt.prefix) || data[n-1] != '}' {
		return nil, &schema.Error{
			Code: schema.CodeInternal, Err: fmt.Errorf("the data of %s does not begin with its root field", rt.name),
		}
	}
	value := data[len(rt.prefix) : n-1]
	if string(value) == "null" {
		return nil, &schema.Error{Code: schema.CodeNotFound, Message: "There is nothing to be found here with these parameters."}
	}
	return value, nil
}
