package schema

import (
	"context"
	"net/http"
	"strings"
)

// Caller describes the request behind an operation.
type Caller struct {
	RequestID string // accepted or made by the server, never empty at an endpoint
	Address   string // the client's IP address, as trusted proxies report it
	Header    http.Header
	Operator  bool   // The endpoint serves operator fields.
	Session   bool   // A session of the inbox was verified, which counts as an operator's token.
	Charged   bool   // The request was counted against the limit of its own route.
	Body      []byte // the raw request body as it was received, for signatures

	Summary Summary // details for the access log
}

// Summary is what the access log records about the operation of a request. The endpoint
// that serves the request fills it in, before and after the operation runs.
type Summary struct {
	Operation     string   // query or mutation
	OperationName string   // name in the client's document, or in the document of a REST route
	RootFields    []string // names in the schema
	Public        bool     // The operation was a successful read of public content.
	Cached        bool     // The response came from the cache.
	Code          Code     // code of the first error
	InvalidFields []string // names of the refused input fields, never their values
	DroppedFields []string // names of the input fields that track left out, in development
}

// HeaderDropped is the header that names the dropped fields of a request.
const HeaderDropped = "X-Dropped-Fields"

// SetHeaders adds the headers that describe how a response was made.
func (s *Summary) SetHeaders(h http.Header) {
	if len(s.DroppedFields) > 0 {
		h.Set(HeaderDropped, strings.Join(s.DroppedFields, ", "))
	}
}

// Refuse records the error that the client receives.
func (s *Summary) Refuse(code Code, fields []FieldError) {
	s.Code, s.InvalidFields = code, make([]string, len(fields))
	for i, f := range fields {
		if s.InvalidFields[i] = f.Field; f.Code == FieldCodeUnknownField {
			s.InvalidFields[i] = "(unknown)" // The client chose the name.
		}
	}
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the caller of a request. The caller is empty for an operation that
// the service itself starts.
func CallerFrom(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return &Caller{}
}
