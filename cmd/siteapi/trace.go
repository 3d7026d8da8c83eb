package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"siteapi/cmd/siteapi/internal/config"
)

// traces makes spans of what happens to a request: the request itself, its operation,
// each root field, each call to a remote system, and later each try to deliver what was
// submitted. No attribute holds anything that a visitor has sent.
//
// nil traces make none: every method of a nil receiver leaves things as they are, so
// that a service without a collector pays nothing.
type traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	context  propagation.TraceContext // no baggage: nobody knows what is in it
}

// tracesCloseTime is how long the last spans may take to the collector.
const tracesCloseTime = 3 * time.Second

// openTraces returns nil where no collector is set. The collector need not be there: what
// can't be sent is dropped, and said so in the log. Headers, certificates, time-outs and
// the sampler are read by the library from their standard variables.
func openTraces(ctx context.Context, s *config.Settings, log zerolog.Logger) (*traces, error) {
	if s.TracesURL == "" {
		return nil, nil //nolint:nilnil // nothing is traced
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(s.TracesURL))
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "siteapi"), attribute.String("service.version", versionText()),
		attribute.String("deployment.environment.name", s.Environment),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	// The library has one place for its errors, which the whole process shares.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn().Err(err).Msg("sending traces")
	}))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &traces{provider: provider, tracer: provider.Tracer("siteapi")}, nil
}

// close sends what is left.
func (t *traces) close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracesCloseTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("sending the last traces: %w", err)
	}
	return nil
}

// traceFields adds the trace and the span to log lines of what is traced.
type traceFields struct{}

// Run implements [zerolog.Hook].
func (traceFields) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	if at := trace.SpanContextFromContext(e.GetCtx()); at.IsValid() {
		e.Str("trace_id", at.TraceID().String()).Str("span_id", at.SpanID().String())
	}
}
