package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
	"siteapi/schema/coding"
)

// serve binds a request to a route's operation and sends the operation's value as JSON or
// as a download.
func (a *API) serve(w http.ResponseWriter, r *http.Request, rt *route) {
	caller := schema.CallerFrom(r.Context())
	caller.Summary = schema.Summary{
		Operation:     string(rt.op.Operation),
		OperationName: rt.op.Name,
		RootFields:    []string{rt.root.Name},
	}

	vars, problem := a.bind(w, r, rt)
	switch {
	case problem != nil:
		WriteProblem(w, r, problem)
	case rt.produces != "":
		a.serveDownload(w, r, rt, vars)
	default:
		a.serveValue(w, r, rt, vars)
	}
}

// serveValue sends the value of the operation's root field as JSON.
func (a *API) serveValue(w http.ResponseWriter, r *http.Request, rt *route, vars map[string]any) {
	value, problem := a.run(r.Context(), rt, vars, r.Header)
	if problem != nil {
		WriteProblem(w, r, problem)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	schema.CallerFrom(r.Context()).Summary.SetHeaders(w.Header())
	write(w, r, http.StatusOK, "application/json; charset=utf-8", coding.NewBody(value))
}

// bind returns the operation's variables. It checks the token before the body is read,
// and a signature before the body is decoded.
func (a *API) bind(w http.ResponseWriter, r *http.Request, rt *route) (map[string]any, *schema.Error) {
	ctx, vars := r.Context(), map[string]any{}
	if problem := a.authorize(ctx, rt); problem != nil {
		return nil, problem
	}

	if b := rt.body; b != nil {
		raw, problem := schema.ReadBody(w, r, b.limit)
		if problem != nil {
			return nil, problem
		}

		schema.CallerFrom(ctx).Body = raw
		if problem := a.authorize(ctx, rt); problem != nil {
			return nil, problem
		}

		if problem := b.checkHeaders(r.Header, w.Header()); problem != nil {
			return nil, problem
		}
		if vars[b.variable.Variable], problem = b.decode(raw); problem != nil {
			return nil, problem
		}
	}
	return vars, rt.bindQuery(r, vars)
}

// authorize returns the error of a root field's guard, which checks the token and, once
// the body has been read, its signature.
func (a *API) authorize(ctx context.Context, rt *route) *schema.Error {
	err := a.executor.Authorize(ctx, rt.root.Definition)
	var known *schema.Error
	if err == nil || errors.As(err, &known) {
		return known
	}
	return &schema.Error{Code: schema.CodeInternal, Err: err}
}

// run returns the value of the operation's root field, as JSON.
func (a *API) run(
	ctx context.Context, rt *route, vars map[string]any, h http.Header,
) ([]byte, *schema.Error) {
	ctx = graphql.StartOperationTrace(ctx)
	refused := a.executor.Admit(ctx, rt.op, vars, true)
	op, errs := a.executor.CreateOperationContext(ctx, &graphql.RawParams{
		Query:         rt.text,
		OperationName: rt.op.Name,
		Headers:       h,
	})

	if refused != nil {
		errs = gqlerror.List{gqlerror.Wrap(refused)}
	}
	if len(errs) > 0 {
		return nil, rt.problem(a.executor.DispatchError(graphql.WithOperationContext(ctx, op), errs).Errors)
	}

	// The executor's Admit has completed the variables; withoutVariables tells why they
	// are not declared.
	op.Variables = vars
	next, ctx := a.executor.DispatchOperation(ctx, op)
	res := next(ctx)
	if res == nil { // The context ended before the operation did.
		return nil, &schema.Error{
			Code:    schema.CodeUpstreamUnavailable,
			Message: "The request took too long.",
			Err:     ctx.Err(),
		}
	}
	if len(res.Errors) > 0 {
		return nil, rt.problem(res.Errors)
	}

	// The data is an object with the root field as its only member.
	value, ok1 := bytes.CutPrefix(res.Data, []byte(rt.prefix))
	value, ok2 := bytes.CutSuffix(value, []byte("}"))

	switch {
	case !ok1 || !ok2:
		return nil, &schema.Error{
			Code: schema.CodeInternal,
			Err:  fmt.Errorf("%s: the data is not its root field", rt.op.Name),
		}
	case string(value) == "null":
		return nil, &schema.Error{
			Code:    schema.CodeNotFound,
			Message: "Nothing was found with these parameters.",
		}
	}
	return value, nil
}

// write sends a response, without the body if the method is HEAD. It sends 304 if the
// client's copy is current.
func write(w http.ResponseWriter, r *http.Request, status int, contentType string, body *coding.Body) {
	w.Header().Set("Content-Type", contentType)
	coding.Write(w, r, status, body)
}
