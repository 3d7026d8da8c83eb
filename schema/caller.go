package schema

import (
	"context"
	"net/http"
	"strings"
)

// Caller identifies the client behind an operation. It is a value: a middleware that
// learns more about the client puts a changed copy into the context.
type Caller struct {
	RequestID string // accepted or made by the server, never empty at an endpoint
	Address   string // the client's IP address, as trusted proxies report it
	Header    http.Header
	Operator  bool // The endpoint serves operator fields.
	Session   bool // A session of the inbox was verified, which counts as an operator's token.

	// Body is the request body as it was received, for signatures. It is nil until the
	// endpoint has read it.
	Body []byte
}

// Token returns the bearer token of the Authorization header, or an empty text.
func (c Caller) Token() string {
	scheme, token, ok := strings.Cut(c.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// WithBody returns a context whose caller has sent this body.
func WithBody(ctx context.Context, body []byte) context.Context {
	c := CallerFrom(ctx)
	c.Body = body
	return WithCaller(ctx, c)
}

// CallerFrom returns the caller of a request. The caller is empty for an operation that
// the service itself starts.
func CallerFrom(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
