package operations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
)

// Executor runs operations.
type Executor interface {
	graphql.GraphExecutor

	// CheckToken returns an error if the guard of a root field rejects the caller's
	// token. It is called before a body is read.
	CheckToken(ctx context.Context, field *ast.FieldDefinition) *schema.Error

	// Authorize returns an error if the guard of a root field rejects the caller's token
	// or the signature of the caller's body.
	Authorize(ctx context.Context, field *ast.FieldDefinition) *schema.Error

	// Admit adds defaults to the variables and returns an error if the operation may not
	// run with them. If ignoreUnknown is set, unknown fields are removed instead of rejected.
	Admit(
		ctx context.Context, op *ast.OperationDefinition, variables map[string]any, ignoreUnknown bool,
	) *schema.Error
}

// Run runs an operation for the caller in the context. It returns the value of the root
// field, as JSON, and the file that the field has attached, if any, also to an error. It
// ignores unknown fields, and fails with NOT_FOUND if the value is null.
func (o *Operation) Run(
	ctx context.Context, e Executor, variables map[string]any,
) (json.RawMessage, *schema.File, *schema.Error) {
	return o.run(ctx, e, variables, true, nil)
}

// run runs the operation, unless invalid lists arguments that the caller has refused.
func (o *Operation) run(
	ctx context.Context, e Executor, variables map[string]any, ignoreUnknown bool,
	invalid []schema.FieldError,
) (json.RawMessage, *schema.File, *schema.Error) {
	ctx = graphql.StartOperationTrace(ctx)
	failed := func(list gqlerror.List) (json.RawMessage, *schema.File, *schema.Error) {
		ctx := graphql.WithOperationContext(ctx, &graphql.OperationContext{})
		return nil, nil, errorOf(e.DispatchError(ctx, list).Errors)
	}

	var refused gqlerror.List
	if err := e.Admit(ctx, o.OperationDefinition, variables, ignoreUnknown); err != nil {
		err.Fields = o.asGiven(err.Fields)
		refused = append(refused, gqlerror.Wrap(err))
	}
	if len(invalid) > 0 {
		refused = append(refused, gqlerror.Wrap(schema.BadInput(invalid...)))
	}
	if len(refused) > 0 {
		return failed(refused)
	}

	op, errs := e.CreateOperationContext(ctx, &graphql.RawParams{
		Query:         o.Text,
		OperationName: o.Name,
		Variables:     variables,
	})
	if len(errs) > 0 {
		return failed(errs)
	}

	next, ctx := e.DispatchOperation(ctx, op)
	res := next(ctx)
	if res == nil { // The context ended before the operation did.
		return nil, nil, schema.Unavailable("The request took too long.", ctx.Err())
	}
	if len(res.Errors) > 0 {
		problem := errorOf(res.Errors)
		problem.Fields = o.asGiven(problem.Fields)
		return nil, schema.AttachedFile(res, o.Root.Alias), problem
	}

	// The root field is the only one, so its value is all but the braces and the name.
	value, isNamed := bytes.CutPrefix(res.Data, []byte(`{"`+o.Root.Alias+`":`))
	value, isObject := bytes.CutSuffix(value, []byte("}"))
	if !isNamed || !isObject {
		return nil, nil, &schema.Error{
			Code: schema.CodeInternal,
			Err:  fmt.Errorf("%s: the operation's data is not an object with its root field", o.Name),
		}
	}
	if string(value) == "null" {
		return nil, nil, schema.NotFound("Nothing was found with these parameters.")
	}
	return value, schema.AttachedFile(res, o.Root.Alias), nil
}

// asGiven names invalid fields by the operation's arguments instead of those of its root
// field, to which they are passed: `since` for `filter.since`.
func (o *Operation) asGiven(fields []schema.FieldError) []schema.FieldError {
	fields = slices.Clone(fields)
	for i, f := range fields {
		for _, arg := range o.Arguments {
			below, isWithin := strings.CutPrefix(f.Field, arg.Path)
			if isWithin && (below == "" || strings.ContainsAny(below[:1], ".[")) {
				fields[i].Field = arg.Name + below
			}
		}
	}
	return fields
}

// errorOf reduces presented GraphQL errors to one. A missing token takes precedence, then a
// bug, then the first error of the list. An error of invalid input lists the invalid
// fields of all errors, up to [schema.MaxFieldErrors].
func errorOf(list gqlerror.List) *schema.Error {
	chosen := &schema.Error{Code: schema.CodeInternal, Err: errors.New("an empty list of errors")}
	var fields []schema.FieldError

	// Callers without a token learn nothing else, and a bug is never hidden behind a
	// client's error.
	precedence := map[schema.Code]int{schema.CodeUnauthenticated: 2, schema.CodeInternal: 1}

	for i, err := range list {
		e := &schema.Error{Code: schema.ErrorCode(err), Message: err.Message, Err: err}
		e.Fields, _ = err.Extensions[schema.ExtensionErrors].([]schema.FieldError)
		after, _ := err.Extensions[schema.ExtensionRetryAfter].(int)
		e.RetryAfter = time.Duration(after) * time.Second

		fields = append(fields, e.Fields...)
		if i == 0 || precedence[e.Code] > precedence[chosen.Code] {
			chosen = e
		}
	}

	if chosen.Code == schema.CodeBadUserInput {
		chosen.Fields = fields[:min(len(fields), schema.MaxFieldErrors)]
	}
	return chosen
}
