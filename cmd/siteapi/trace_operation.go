package main

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"siteapi/integrations/queue"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
	"siteapi/resolvers"
	"siteapi/rest"
	"siteapi/schema"
)

// executor makes a span of each operation and of each of its root fields.
func (t *traces) executor(e *resolvers.Executor) rest.Executor {
	if t == nil {
		return e
	}
	return &tracedExecutor{e, t}
}

// tracedExecutor runs operations within spans. Their names come from the schema alone:
// what clients call their operations is their own business.
type tracedExecutor struct {
	*resolvers.Executor
	traces *traces
}

// CreateOperationContext prepares an operation whose root fields make spans. It may be
// run many times.
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
		ctx, span := e.traces.tracer.Start(ctx, parent+graphql.GetRootFieldContext(ctx).Field.Name)
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
	ctx, span := e.traces.tracer.Start(ctx, kind+" "+rootField(op.Operation), trace.WithAttributes(attribute.String("graphql.operation.type", kind)))
	next, ctx := e.Executor.DispatchOperation(ctx, op)
	return func(ctx context.Context) *graphql.Response {
		defer span.End()
		resp := next(ctx)
		if resp == nil {
			span.SetStatus(codes.Error, "it took too long")
		} else if len(resp.Errors) > 0 {
			noteCode(span, resp.Errors[0])
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

// noteCode says what became of an operation. Messages may quote what a client sent; codes
// don't. Only what is our fault counts as an error.
func noteCode(span trace.Span, err *gqlerror.Error) {
	code, _ := err.Extensions[schema.ExtensionCode].(string)
	span.SetAttributes(attribute.String("siteapi.code", code))
	if code == string(schema.CodeInternal) || code == string(schema.CodeUpstreamUnavailable) {
		span.SetStatus(codes.Error, code)
	}
}

// outcome adds to the span of a request what became of its operation.
func (t *traces) outcome(ctx context.Context, outcome string) {
	if t != nil {
		trace.SpanFromContext(ctx).SetAttributes(attribute.String("siteapi.outcome", outcome))
	}
}

// senders makes a span of each try to deliver a submission, in the trace of the request
// that brought it, however long that is ago.
func (t *traces) senders(all map[queue.Target]queue.Send) {
	if t == nil {
		return
	}
	for target, send := range all {
		all[target] = t.sender(target, send)
	}
}

func (t *traces) sender(target queue.Target, send queue.Send) queue.Send {
	return func(ctx context.Context, s *quote.Submission) error {
		ctx = t.context.Extract(ctx, carrier(s.Trace))
		ctx, span := t.tracer.Start(ctx, "deliver "+string(target), trace.WithSpanKind(trace.SpanKindConsumer),
			trace.WithAttributes(attribute.String("siteapi.target", string(target))))
		defer span.End()
		err := send(ctx, s)
		if err != nil {
			kind := string(upstream.KindOf(err))
			span.SetAttributes(attribute.String("error.type", kind))
			span.SetStatus(codes.Error, kind)
		}
		return err
	}
}

// carrier holds a traceparent and nothing else.
type carrier string

// Get implements [propagation.TextMapCarrier].
func (c carrier) Get(key string) string {
	if key == "traceparent" {
		return string(c)
	}
	return ""
}

// Set implements [propagation.TextMapCarrier]. A carrier is only read.
func (carrier) Set(string, string) {}

// Keys implements [propagation.TextMapCarrier].
func (carrier) Keys() []string { return []string{"traceparent"} }
