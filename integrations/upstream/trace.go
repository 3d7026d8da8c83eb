package upstream

import (
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traced records a span of each request that is sent within a trace, and propagates the
// trace.
func traced(system string, next http.RoundTripper) http.RoundTripper {
	return otelhttp.NewTransport(
		described{next},
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool {
			return trace.SpanContextFromContext(r.Context()).IsValid()
		}),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
			return r.Method + " " + system
		}),
	)
}

// described adds the purpose to the span of a request and removes the address, which may
// contain an e-mail address.
type described struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t described) RoundTrip(r *http.Request) (*http.Response, error) {
	op, _ := r.Context().Value(opKey{}).(string)
	trace.SpanFromContext(r.Context()).SetAttributes(
		attribute.String("siteapi.operation", op),
		attribute.String("url.full", "redacted"),
	)
	return t.next.RoundTrip(r)
}

// opKey is the key of a call's Op in the context of its HTTP request.
type opKey struct{}
