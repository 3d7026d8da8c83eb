package request

import (
	"context"
	"slices"
	"sync/atomic"

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

// Record is the outcome of a request, for the access log and the metrics. The endpoints and
// resolvers write it.
type Record struct {
	Operation Operation
	Code      schema.Code // code of the error in the response; empty: none
	Invalid   []string    // names of invalid input fields, without their values
	Dropped   []string    // names of ignored input fields, which the response lists in HeaderDropped

	NamesDropped bool // whether Dropped is recorded

	Revision atomic.Pointer[string] // the preview's revision; nil: none was read
}

// HeaderDropped is the header that lists the dropped fields of a request.
const HeaderDropped = "X-Dropped-Fields"

type recordKey struct{}

// WithRecord returns a context that carries the record of a request.
func WithRecord(ctx context.Context, r *Record) context.Context {
	return context.WithValue(ctx, recordKey{}, r)
}

// RecordFrom returns the record of a request. That of an operation that the service itself
// starts is discarded.
func RecordFrom(ctx context.Context) *Record {
	if r, ok := ctx.Value(recordKey{}).(*Record); ok {
		return r
	}
	return &Record{}
}

// Refuse records the error in the response, without the names of unknown fields, which the
// client chose.
func (r *Record) Refuse(code schema.Code, fields []schema.FieldError) {
	r.Code, r.Invalid = code, make([]string, len(fields))
	for i, f := range fields {
		if r.Invalid[i] = f.Field; f.Code == schema.FieldCodeUnknownField {
			r.Invalid[i] = "(unknown)"
		}
	}
}

// Drop records ignored input fields, each once, if NamesDropped is set.
func (r *Record) Drop(fields []string) {
	for _, field := range fields {
		if r.NamesDropped && !slices.Contains(r.Dropped, field) {
			r.Dropped = append(r.Dropped, field)
		}
	}
}

// Preview records the state of all content, published or not, from which the response to a
// preview is built. If root fields have read different ones, the response has a revision
// that is never current. It may be called concurrently.
func (r *Record) Preview(revision string) {
	if !r.Revision.CompareAndSwap(nil, &revision) && *r.Revision.Load() != revision {
		r.Revision.Store(new("mixed"))
	}
}
