package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Traces creates spans for requests, their GraphQL operations, calls to remote systems,
// and attempts to deliver leads. Attributes contain no data from visitors. Baggage is not
// propagated, since its content is unknown.
//
// A nil Traces is off: its methods do nothing. The functions of this package create and
// describe spans only if the context has one.
type Traces struct{ provider *sdktrace.TracerProvider }

// OpenTraces returns nil if no collector is set. If the collector is unreachable, spans
// are dropped and a warning is logged. The library reads headers, certificates, timeouts
// and the sampler from the standard variables.
func OpenTraces(
	ctx context.Context, s *config.Settings, version string, log zerolog.Logger,
) (*Traces, error) {
	if s.TracesURL == "" {
		return nil, nil //nolint:nilnil // tracing is off
	}

	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(s.TracesURL))
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}

	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", "siteapi"),
			attribute.String("service.version", version),
			attribute.String("deployment.environment.name", s.Environment),
		),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}

	// The library's error handler is global to the process.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn().Str("reason", upstream.Redact(err.Error())).Msg("cannot send traces: they are dropped")
	}))

	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &Traces{provider}, nil
}

// Close sends the remaining spans.
func (t *Traces) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()

	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("sending the last traces: %w", err)
	}
	return nil
}

// Handler creates a span for each request except health checks, within the trace of the
// client if there is one.
func (t *Traces) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return otelhttp.NewHandler(next, "",
		otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool {
			return r.URL.Path != "/healthz" && r.URL.Path != "/readyz"
		}),
	)
}

// DescribeRequest adds the route and the request id to the span of a request, and redacts
// attributes that may identify a person.
func DescribeRequest(r *http.Request) {
	span := trace.SpanFromContext(r.Context())
	if !span.IsRecording() {
		return
	}

	for _, name := range []string{
		"url.path",
		"client.address",
		"network.peer.address",
		"user_agent.original",
		"http.request.method_original",
	} {
		span.SetAttributes(attribute.String(name, "redacted"))
	}
	if r.Pattern != "" {
		span.SetAttributes(attribute.String("http.route", r.Pattern))
	}
	span.SetAttributes(attribute.String("siteapi.request_id", request.CallerFrom(r.Context()).RequestID))
}

// Operation creates a span for a GraphQL operation. It is named after the root field,
// since clients choose the names of operations.
func Operation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx).Operation
	kind := string(op.Operation)

	ctx, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("siteapi").Start(ctx,
		kind+" "+rootField(op),
		trace.WithAttributes(attribute.String("graphql.operation.type", kind)))
	handler := next(ctx)

	return func(ctx context.Context) *graphql.Response {
		defer span.End()

		response := handler(ctx)
		if response != nil && len(response.Errors) > 0 {
			code := schema.ErrorCode(response.Errors[0])
			// Unlike codes, messages may contain data from the client.
			span.SetAttributes(attribute.String("siteapi.code", string(code)))

			// Only failures of the service or of its dependencies count as errors.
			if code == schema.CodeInternal || code == schema.CodeUpstreamUnavailable {
				span.SetStatus(codes.Error, string(code))
			}
		}
		return response
	}
}

// rootField returns the name of an operation's only root field, or "multiple".
func rootField(op *ast.OperationDefinition) string {
	fields := schema.Fields(op.SelectionSet)
	if len(fields) != 1 {
		return "multiple"
	}
	return fields[0].Name
}

// Send creates a span for each attempt to deliver a lead, in the trace of the request
// that submitted it.
func (t *Traces) Send(target lead.Target, send queue.Send) queue.Send {
	if t == nil {
		return send
	}

	return func(ctx context.Context, try *queue.Try) error {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": try.Trace})
		ctx, span := t.provider.Tracer("siteapi").Start(ctx, "deliver "+string(target),
			trace.WithSpanKind(trace.SpanKindConsumer),
			trace.WithAttributes(attribute.String("siteapi.target", string(target))))
		defer span.End()

		err := send(ctx, try)
		if err != nil {
			kind := string(upstream.KindOf(err))
			span.SetAttributes(attribute.String("error.type", kind))
			span.SetStatus(codes.Error, kind)
		}
		return err
	}
}
