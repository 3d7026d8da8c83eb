package httpserver

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rs/zerolog"

	"siteapi/schema"
	"siteapi/schema/request"
)

// record collects the details of a request for the access log and the metrics. It
// implements [request.Recorder].
type record struct {
	operation request.Operation
	code      schema.Code // code of the error in the response; empty: none
	invalid   []string    // names of invalid input fields, without their values
	dropped   []string    // names of ignored input fields

	namesDropped bool // whether dropped is recorded

	charged bool // counted against the rate limit of its REST route
	stream  bool // the response is an event stream
	limited bool // refused by a rate or concurrency limit
	preview bool // has the preview header
	routine bool // a health check or a preflight request

	revision atomic.Pointer[string] // the preview's revision; nil: none was read

	endpoint http.Handler // nil if the path has no route

	counted map[string]int // weight of the request in each counter of requests in flight

	status int // 0: the response has not begun
	bytes  int64
}

// recordOf returns the record of a request.
func recordOf(ctx context.Context) *record {
	if rec, ok := request.RecorderFrom(ctx).(*record); ok {
		return rec
	}
	return &record{}
}

// Operation records the operation of the request.
func (rec *record) Operation(op request.Operation) { rec.operation = op }

// Refused records the error in the response, without the names of unknown fields, which
// the client chose.
func (rec *record) Refused(code schema.Code, fields []schema.FieldError) {
	rec.code, rec.invalid = code, make([]string, len(fields))
	rec.limited = rec.limited || code == schema.CodeRateLimited
	for i, f := range fields {
		if rec.invalid[i] = f.Field; f.Code == schema.FieldCodeUnknownField {
			rec.invalid[i] = "(unknown)"
		}
	}
}

// Dropped records ignored input fields, each once, if namesDropped is set.
func (rec *record) Dropped(fields []string) {
	for _, field := range fields {
		if rec.namesDropped && !slices.Contains(rec.dropped, field) {
			rec.dropped = append(rec.dropped, field)
		}
	}
}

// Previewed records the revision of the content of a preview. If root fields have read
// different ones, the response has a revision that is never current.
func (rec *record) Previewed(revision string) {
	if !rec.revision.CompareAndSwap(nil, &revision) && *rec.revision.Load() != revision {
		rec.revision.Store(new("mixed"))
	}
}

// level returns the log level of the request. Frequent requests are logged at the debug
// level: reads of public content, and successfully tracked sessions and estimates. So are
// preflight requests and health checks, whose failures are logged separately.
func (rec *record) level() zerolog.Level {
	switch {
	case rec.status == http.StatusInternalServerError:
		return zerolog.ErrorLevel
	case len(rec.dropped) > 0:
		return zerolog.InfoLevel
	case rec.routine, rec.operation.Public, rec.code == "" && rec.frequent():
		return zerolog.DebugLevel
	}
	return zerolog.InfoLevel
}

// frequent reports whether calculators send the request for each choice of a visitor.
func (rec *record) frequent() bool {
	return slices.Equal(rec.operation.RootFields, []string{"trackQuote"}) ||
		slices.Equal(rec.operation.RootFields, []string{"estimateQuote"})
}

// MarshalZerologObject adds the details of the operation to an event.
func (rec *record) MarshalZerologObject(event *zerolog.Event) {
	if rec.operation.Type != "" {
		event.Str("operation", rec.operation.Type).Strs("root_fields", rec.operation.RootFields)
	}
	if rec.operation.Name != "" {
		event.Str("operation_name", rec.operation.Name)
	}
	if rec.code != "" {
		event.Str("code", string(rec.code))
	}
	if len(rec.invalid) > 0 {
		event.Strs("invalid_fields", rec.invalid)
	}
	if len(rec.dropped) > 0 {
		event.Strs("dropped_fields", rec.dropped)
	}
}

// recordingWriter records the status and size of a response, and lists ignored input
// fields in its header.
type recordingWriter struct {
	http.ResponseWriter
	*record
}

// WriteHeader records the status.
func (w *recordingWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.status = status
	}
	if len(w.dropped) > 0 && w.code == "" {
		w.Header().Set(request.HeaderDropped, strings.Join(w.dropped, ", "))
	}
	if w.preview {
		w.keepPrivate(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (w *recordingWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *recordingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
