package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
)

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
}

// operation is a route that an executor has prepared. It is parsed and validated once, so
// that a request only brings its variables.
type operation struct {
	*route
	executor Executor
	prepared *graphql.OperationContext
}

// prepare validates the operation of a route with the variables of its example.
func prepare(executor Executor, rt *route) (*operation, error) {
	prepared, errs := executor.CreateOperationContext(
		graphql.StartOperationTrace(context.Background()),
		&graphql.RawParams{Query: rt.text, OperationName: rt.op.Name, Variables: rt.exampleVars},
	)
	if len(errs) > 0 {
		return nil, fmt.Errorf("preparing the REST operation %s: %w", rt.op.Name, errs)
	}
	return &operation{rt, executor, prepared}, nil
}

// context returns the operation with the variables of one request. The executor's Admit
// checks and completes them. Having gqlgen do so again would cost a seventh of
// rest-vs-nethttp.
func (o *operation) context(vars map[string]any, h http.Header) *graphql.OperationContext {
	return &graphql.OperationContext{
		RawQuery:               o.prepared.RawQuery,
		OperationName:          o.prepared.OperationName,
		Doc:                    o.prepared.Doc,
		Operation:              o.prepared.Operation,
		Variables:              vars,
		Headers:                h,
		DisableIntrospection:   o.prepared.DisableIntrospection,
		RecoverFunc:            o.prepared.RecoverFunc,
		ResolverMiddleware:     o.prepared.ResolverMiddleware,
		RootResolverMiddleware: o.prepared.RootResolverMiddleware,
	}
}

// bind returns the operation's variables, and its context, whose caller has the body. It
// checks the token before the body is read, and a signature before the body is decoded.
func (o *operation) bind(
	w http.ResponseWriter, r *http.Request,
) (context.Context, map[string]any, *schema.Error) {
	ctx, vars := r.Context(), map[string]any{}
	if problem := codedError(o.executor.CheckToken(ctx, o.root.Definition)); problem != nil {
		return ctx, nil, problem
	}

	if b := o.body; b != nil {
		raw, problem := schema.ReadBody(w, r, b.limit)
		if problem != nil {
			return ctx, nil, problem
		}

		ctx = schema.WithBody(ctx, raw)
		if problem := codedError(o.executor.Authorize(ctx, o.root.Definition)); problem != nil {
			return ctx, nil, problem
		}

		if problem := b.checkHeaders(r.Header, w.Header()); problem != nil {
			return ctx, nil, problem
		}
		if problem := b.decode(raw, vars); problem != nil {
			return ctx, nil, problem
		}
	}
	if problem := o.bindPath(r.URL.Path, vars); problem != nil {
		return ctx, nil, problem
	}
	return ctx, vars, o.bindQuery(r, vars)
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
func (o *operation) run(
	ctx context.Context, vars map[string]any, h http.Header,
) ([]byte, *schema.File, *schema.Error) {
	op := o.context(vars, h)
	if refused := o.executor.Admit(ctx, o.op, vars, true); refused != nil {
		list := gqlerror.List{gqlerror.Wrap(refused)}
		return nil, nil, o.problem(o.executor.DispatchError(graphql.WithOperationContext(ctx, op), list).Errors)
	}

	next, ctx := o.executor.DispatchOperation(ctx, op)
	res := next(ctx)
	if res == nil { // The context ended before the operation did.
		return nil, nil, &schema.Error{
			Code:    schema.CodeUpstreamUnavailable,
			Message: "The request took too long.",
			Err:     ctx.Err(),
		}
	}
	if len(res.Errors) > 0 {
		return nil, nil, o.problem(res.Errors)
	}

	var data map[string]json.RawMessage
	if err := json.Unmarshal(res.Data, &data); err != nil {
		return nil, nil, &schema.Error{
			Code: schema.CodeInternal,
			Err:  fmt.Errorf("%s: reading the operation's data: %w", o.op.Name, err),
		}
	}

	value := data[o.root.Alias]
	if string(value) == "null" {
		return nil, nil, &schema.Error{
			Code:    schema.CodeNotFound,
			Message: "Nothing was found with these parameters.",
		}
	}
	return value, schema.AttachedFile(res, o.root.Alias), nil
}

// problem returns the error of an operation that failed.
func (o *operation) problem(list gqlerror.List) *schema.Error {
	problem := problemOf(list)
	problem.Fields = o.sentNames(problem.Fields)
	return problem
}
