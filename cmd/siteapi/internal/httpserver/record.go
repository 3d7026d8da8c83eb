package httpserver

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"siteapi/schema"
)

// record is what the access log and the metrics tell about a request. It implements
// [schema.Recorder].
type record struct {
	operation schema.Operation
	code      schema.Code // code of the error that the client received; empty: none
	invalid   []string    // names of the refused input fields, never their values
	dropped   []string    // names of the input fields that were left out

	namesDropped bool // the names of such fields are recorded

	charged bool // The request was counted against the limit of its own route.
	stream  bool // The response is a stream of events, which lasts as long as its client wants.
	limited bool // The request was refused because its client, or all clients, made too many.
	preview bool // The request has the header of a preview.
	routine bool // The request is a health check, or a preflight request of a browser.

	endpoint http.Handler // serves the request, if its path has a route

	counted []counted // where the request counts among those in flight

	status int // 0: the response has not begun
	bytes  int64
}

// recordOf returns the record of a request.
func recordOf(ctx context.Context) *record {
	if rec, ok := schema.RecorderFrom(ctx).(*record); ok {
		return rec
	}
	return &record{}
}

// Operation records what the request asks for.
func (rec *record) Operation(op schema.Operation) { rec.operation = op }

// Refused records the error that the client receives. It leaves out the names of unknown
// fields, which the client chose.
func (rec *record) Refused(code schema.Code, fields []schema.FieldError) {
	rec.code, rec.invalid = code, make([]string, len(fields))
	rec.limited = rec.limited || code == schema.CodeRateLimited
	for i, f := range fields {
		if rec.invalid[i] = f.Field; f.Code == schema.FieldCodeUnknownField {
			rec.invalid[i] = "(unknown)"
		}
	}
}

// Dropped records input fields that were left out, each once, if that is asked for.
func (rec *record) Dropped(fields []string) {
	for _, field := range fields {
		if rec.namesDropped && !slices.Contains(rec.dropped, field) {
			rec.dropped = append(rec.dropped, field)
		}
	}
}

// level returns the level at which the request is logged. Frequent successes, which are
// reads of public content, tracked sessions and prices, are logged at the debug level. So
// are preflight requests and health checks; what makes these fail has a line of its own.
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

// frequent reports whether a calculator sends the request with each choice of its visitor.
func (rec *record) frequent() bool {
	return slices.Equal(rec.operation.RootFields, []string{"trackQuote"}) ||
		slices.Equal(rec.operation.RootFields, []string{"estimateQuote"})
}

// MarshalZerologObject writes the details of the operation.
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

// recordingWriter records the status and the size of a response, and names the dropped
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
		w.Header().Set(schema.HeaderDropped, strings.Join(w.dropped, ", "))
	}
	if w.preview {
		keepPrivate(w.Header())
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
