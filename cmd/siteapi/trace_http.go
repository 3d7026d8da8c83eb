package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"siteapi/integrations/upstream"
)

// handler makes a span of each request but for probes. A trace that the client has begun
// goes on.
func (t *traces) handler(next http.Handler, route func(*http.Request) string) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			next.ServeHTTP(w, r)
			return
		}
		method, where := methodName(r.Method), route(r)
		ctx := t.context.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, method+" "+where, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			attribute.String("http.request.method", method), attribute.String("http.route", where),
		))
		out := &recorder{ResponseWriter: w}
		defer func() {
			status := out.status
			if status == 0 {
				status = http.StatusOK
			}
			span.SetAttributes(attribute.Int("http.response.status_code", status),
				attribute.String("siteapi.request_id", w.Header().Get("X-Request-Id")))
			if status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, http.StatusText(status))
			}
			span.End()
		}()
		next.ServeHTTP(out, r.WithContext(ctx))
	})
}

// methodName is a request's method, of few different values.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions, http.MethodPut, http.MethodDelete, http.MethodPatch:
		return method
	}
	return "_OTHER"
}

// parent returns what the resolvers ask for the place in a trace that a submission came
// from, in W3C's notation.
func (t *traces) parent() func(ctx context.Context) string {
	if t == nil {
		return nil
	}
	return func(ctx context.Context) string {
		carrier := propagation.MapCarrier{}
		t.context.Inject(ctx, carrier)
		return carrier["traceparent"]
	}
}

// tracedTransport makes a span of each HTTP request to a remote system that happens
// within a trace, and lets the far end know of it. The address is left out: it may hold
// a visitor's.
type tracedTransport struct {
	traces *traces
	system string
	next   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *tracedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trace.SpanContextFromContext(r.Context()).IsValid() {
		return t.next.RoundTrip(r) // a probe of ours
	}
	ctx, span := t.traces.tracer.Start(r.Context(), r.Method+" "+t.system, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("server.address", r.URL.Hostname()),
		attribute.String("siteapi.system", t.system), attribute.String("siteapi.operation", upstream.OpOf(r.Context())),
	))
	r = r.Clone(ctx)
	t.traces.context.Inject(ctx, propagation.HeaderCarrier(r.Header))
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		span.SetAttributes(attribute.String("error.type", fmt.Sprintf("%T", err)))
		span.SetStatus(codes.Error, "no answer")
		span.End()
		return nil, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode))
	if resp.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, http.StatusText(resp.StatusCode))
	}
	resp.Body = &tracedBody{resp.Body, span}
	return resp, nil
}

// tracedBody ends a span with the body of the answer.
type tracedBody struct {
	io.ReadCloser
	span trace.Span
}

// Read ends the span with the last byte, or with what keeps it from coming.
func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		if err != io.EOF {
			b.span.SetStatus(codes.Error, "the answer broke off")
		}
		b.span.End()
	}
	return n, err
}

// Close ends the span where the body was not read to its end.
func (b *tracedBody) Close() error {
	b.span.End()
	return b.ReadCloser.Close()
}
