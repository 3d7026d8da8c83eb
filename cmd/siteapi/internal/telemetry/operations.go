package telemetry

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"siteapi/schema"
)

// Operations is an extension of gqlgen's executor that makes a span of each operation and
// of each of its root fields. Their names come from the schema alone: clients may name
// their operations after anything.
func (t *Traces) Operations() []graphql.HandlerExtension {
	if t == nil {
		return nil
	}
	return []graphql.HandlerExtension{operationSpans{t.tracer}}
}

type operationSpans struct{ tracer trace.Tracer }

// ExtensionName implements [graphql.HandlerExtension].
func (operationSpans) ExtensionName() string { return "OperationSpans" }

// Validate implements [graphql.HandlerExtension].
func (operationSpans) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptOperation implements [graphql.OperationInterceptor].
func (o operationSpans) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx).Operation
	kind := string(op.Operation)
	ctx, span := o.tracer.Start(ctx, kind+" "+rootField(op), trace.WithAttributes(attribute.String("graphql.operation.type", kind)))
	handler := next(ctx)
	return func(ctx context.Context) *graphql.Response {
		defer span.End()
		response := handler(ctx)
		if response != nil && len(response.Errors) > 0 {
			code := schema.ErrorCode(response.Errors[0])
			// Messages may quote what a client sent; codes don't. Only what is the service's
			// fault counts as an error.
			span.SetAttributes(attribute.String("siteapi.code", string(code)))
			if code == schema.CodeInternal || code == schema.CodeUpstreamUnavailable {
				span.SetStatus(codes.Error, string(code))
			}
		}
		return response
	}
}

// InterceptRootField implements [graphql.RootFieldInterceptor].
func (o operationSpans) InterceptRootField(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	parent := "Query."
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Mutation {
		parent = "Mutation."
	}
	ctx, span := o.tracer.Start(ctx, parent+graphql.GetRootFieldContext(ctx).Field.Name)
	defer span.End()
	return next(ctx)
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
