package request

import (
	"context"

	"siteapi/schema"
)

// Operation describes the operation of a request, for the access log and the metrics.
type Operation struct {
	Type       string   // query or mutation
	Name       string   // name in the client's document, or in the document of a REST route
	RootFields []string // names in the schema
	Public     bool     // The operation was a successful read of public content.
	Cached     bool     // The response came from the cache.
}

// Recorder records the outcome of a request. The server implements it for its access log,
// and the endpoints and resolvers call it.
type Recorder interface {
	// Operation records the requested operation. A later call replaces an earlier one.
	Operation(op Operation)

	// Refused records the error that the client receives.
	Refused(code schema.Code, fields []schema.FieldError)

	// Dropped records the names of input fields that were ignored. In development the
	// response lists them in HeaderDropped.
	Dropped(fields []string)

	// Previewed records the state of all content, published or not, from which the
	// response to a preview is built. It may be called concurrently.
	Previewed(revision string)
}

// HeaderDropped is the header that lists the dropped fields of a request.
const HeaderDropped = "X-Dropped-Fields"

type recorderKey struct{}

// WithRecorder returns a context that carries the recorder of a request.
func WithRecorder(ctx context.Context, r Recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// RecorderFrom returns the recorder of a request. An operation that the service itself
// starts is not recorded.
func RecorderFrom(ctx context.Context) Recorder {
	if r, ok := ctx.Value(recorderKey{}).(Recorder); ok {
		return r
	}
	return unrecorded{}
}

// unrecorded is the recorder of an operation without a request.
type unrecorded struct{}

func (unrecorded) Operation(Operation)                      {}
func (unrecorded) Refused(schema.Code, []schema.FieldError) {}
func (unrecorded) Dropped([]string)                         {}
func (unrecorded) Previewed(string)                         {}
