package telemetry

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"siteapi/resolvers"
	"siteapi/rest"
	"siteapi/schema"
)

// Executor makes a span of each operation and of each of its root fields.
func (t *Traces) Executor(e *resolvers.Executor) rest.Executor {
	if t == nil {
		return e
	}
	return &tracedExecutor{e, t.tracer}
}

// tracedExecutor runs operations within spans. Their names come from the schema alone:
// clients may name their operations after anything.
type tracedExecutor struct {
	*resolvers.Executor
	tracer trace.Tracer
}

// CreateOperationContext prepares an operation whose root fields make spans.
func (e *tracedExecutor) CreateOperationContext(
	ctx context.Context, params *graphql.RawParams,
) (*graphql.OperationContext, gqlerror.List) {
	op, errs := e.Executor.CreateOperationContext(ctx, params)
	if len(errs) > 0 || op == nil || op.RootResolverMiddleware == nil {
		return op, errs
	}
	inner, parent := op.RootResolverMiddleware, "Query."
	if op.Operation.Operation == ast.Mutation {
		parent = "Mutation."
	}
	op.RootResolverMiddleware = func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
		ctx, span := e.tracer.Start(ctx, parent+graphql.GetRootFieldContext(ctx).Field.Name)
		defer span.End()
		return inner(ctx, next)
	}
	return op, nil
}

// DispatchOperation runs an operation within a span.
func (e *tracedExecutor) DispatchOperation(
	ctx context.Context, op *graphql.OperationContext,
) (graphql.ResponseHandler, context.Context) {
	kind := string(op.Operation.Operation)
	ctx, span := e.tracer.Start(ctx, kind+" "+rootField(op.Operation), trace.WithAttributes(
		attribute.String("graphql.operation.type", kind), attribute.String("siteapi.request_id", schema.CallerFrom(ctx).RequestID)))
	next, ctx := e.Executor.DispatchOperation(ctx, op)
	return func(ctx context.Context) *graphql.Response {
		defer span.End()
		resp := next(ctx)
		if resp == nil {
			span.SetStatus(codes.Error, "timeout")
		} else if len(resp.Errors) > 0 {
			setCode(span, resp.Errors[0])
		}
		return resp
	}, ctx
}

// rootField names the root field of an operation.
func rootField(op *ast.OperationDefinition) string {
	if len(op.SelectionSet) == 1 {
		if f, ok := op.SelectionSet[0].(*ast.Field); ok && f.Definition != nil {
			return f.Name
		}
	}
	return "multiple"
}

// setCode records what became of an operation. Messages may quote what a client sent; codes
// don't. Only what is the service's fault counts as an error.
func setCode(span trace.Span, err *gqlerror.Error) {
	code, _ := err.Extensions[schema.ExtensionCode].(string)
	span.SetAttributes(attribute.String("siteapi.code", code))
	if code == string(schema.CodeInternal) || code == string(schema.CodeUpstreamUnavailable) {
		span.SetStatus(codes.Error, code)
	}
}
