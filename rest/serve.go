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
	schema.RecorderFrom(r.Context()).Operation(schema.Operation{
		Type:       string(rt.op.Operation),
		Name:       rt.op.Name,
		RootFields: []string{rt.root.Name},
	})

	ctx, vars, problem := a.bind(w, r, rt)
	switch {
	case problem != nil:
		WriteProblem(w, r, problem)
	case rt.produces != "":
		a.serveDownload(ctx, w, r, rt, vars)
	default:
		a.serveValue(ctx, w, r, rt, vars)
	}
}

// serveValue sends the value of the operation's root field as JSON.
func (a *API) serveValue(
	ctx context.Context, w http.ResponseWriter, r *http.Request, rt *route, vars map[string]any,
) {
	value, _, problem := a.run(ctx, rt, vars, r.Header)
	if problem != nil {
		WriteProblem(w, r, problem)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	write(w, r, http.StatusOK, "application/json; charset=utf-8", coding.NewBody(value))
}

// bind returns the operation's variables, and its context, whose caller has the body. It
// checks the token before the body is read, and a signature before the body is decoded.
func (a *API) bind(
	w http.ResponseWriter, r *http.Request, rt *route,
) (context.Context, map[string]any, *schema.Error) {
	ctx, vars := r.Context(), map[string]any{}
	if problem := codedError(a.executor.CheckToken(ctx, rt.root.Definition)); problem != nil {
		return ctx, nil, problem
	}

	if b := rt.body; b != nil {
		raw, problem := schema.ReadBody(w, r, b.limit)
		if problem != nil {
			return ctx, nil, problem
		}

		ctx = schema.WithBody(ctx, raw)
		if problem := codedError(a.executor.Authorize(ctx, rt.root.Definition)); problem != nil {
			return ctx, nil, problem
		}

		if problem := b.checkHeaders(r.Header, w.Header()); problem != nil {
			return ctx, nil, problem
		}
		if problem := b.decode(raw, vars); problem != nil {
			return ctx, nil, problem
		}
	}
	return ctx, vars, rt.bindQuery(r, vars)
}

// codedError returns an error of the executor for the client, or nil if there is none.
func codedError(err error) *schema.Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*schema.Error](err); ok {
		return known
	}
	return &schema.Error{Code: schema.CodeInternal, Err: err}
}

// run returns the value of the operation's root field, as JSON, and the file that the
// field has attached, if any.
func (a *API) run(
	ctx context.Context, rt *route, vars map[string]any, h http.Header,
) ([]byte, *schema.File, *schema.Error) {
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
		return nil, nil, rt.problem(a.executor.DispatchError(graphql.WithOperationContext(ctx, op), errs).Errors)
	}

	// The executor's Admit has completed the variables; withoutVariables tells why they
	// are not declared.
	op.Variables = vars
	next, ctx := a.executor.DispatchOperation(ctx, op)
	res := next(ctx)
	if res == nil { // The context ended before the operation did.
		return nil, nil, &schema.Error{
			Code:    schema.CodeUpstreamUnavailable,
			Message: "The request took too long.",
			Err:     ctx.Err(),
		}
	}
	if len(res.Errors) > 0 {
		return nil, nil, rt.problem(res.Errors)
	}

	// The data is an object with the root field as its only member.
	value, ok1 := bytes.CutPrefix(res.Data, []byte(rt.prefix))
	value, ok2 := bytes.CutSuffix(value, []byte("}"))

	switch {
	case !ok1 || !ok2:
		return nil, nil, &schema.Error{
			Code: schema.CodeInternal,
			Err:  fmt.Errorf("%s: the data is not its root field", rt.op.Name),
		}
	case string(value) == "null":
		return nil, nil, &schema.Error{
			Code:    schema.CodeNotFound,
			Message: "Nothing was found with these parameters.",
		}
	}
	return value, schema.AttachedFile(res, rt.root.Alias), nil
}

// write sends a response, without the body if the method is HEAD. It sends 304 if the
// client's copy is current.
func write(w http.ResponseWriter, r *http.Request, status int, contentType string, body *coding.Body) {
	w.Header().Set("Content-Type", contentType)
	coding.Write(w, r, status, body)
}
