package httpserver

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"siteapi/schema/request"
)

// record collects the details of a request for the access log and the metrics.
type record struct {
	request.Record

	charged bool // counted against the rate limit of its REST route
	stream  bool // the response is an event stream
	limited bool // refused by a limit of requests in flight
	preview bool // has the preview header
	routine bool // a health check or a preflight request

	endpoint http.Handler // nil if the path has no route

	counted map[string]int // weight of the request in each counter of requests in flight

	status int // 0: the response has not begun
	bytes  int64
}

type recordKey struct{}

// withRecord returns a context that carries the record of a request.
func withRecord(ctx context.Context, rec *record) context.Context {
	return request.WithRecord(context.WithValue(ctx, recordKey{}, rec), &rec.Record)
}

// recordOf returns the record of a request.
func recordOf(ctx context.Context) *record {
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		return rec
	}
	return &record{}
}

// level returns the log level of the request. Frequent requests are logged at the debug
// level: reads of public content, and successfully tracked sessions and estimates. So are
// preflight requests and health checks, whose failures are logged separately.
func (rec *record) level() zerolog.Level {
	switch {
	case rec.status == http.StatusInternalServerError:
		return zerolog.ErrorLevel
	case len(rec.Dropped) > 0:
		return zerolog.InfoLevel
	case rec.routine, rec.Operation.Public, rec.Code == "" && rec.frequent():
		return zerolog.DebugLevel
	}
	return zerolog.InfoLevel
}

// frequent reports whether calculators send the request for each choice of a visitor.
func (rec *record) frequent() bool {
	return slices.Equal(rec.Operation.RootFields, []string{"trackQuote"}) ||
		slices.Equal(rec.Operation.RootFields, []string{"estimateQuote"})
}

// MarshalZerologObject adds the details of the operation to an event.
func (rec *record) MarshalZerologObject(event *zerolog.Event) {
	if rec.Operation.Type != "" {
		event.Str("operation", rec.Operation.Type).Strs("root_fields", rec.Operation.RootFields)
	}
	if rec.Operation.Name != "" {
		event.Str("operation_name", rec.Operation.Name)
	}
	if rec.Code != "" {
		event.Str("code", string(rec.Code))
	}
	if len(rec.Invalid) > 0 {
		event.Strs("invalid_fields", rec.Invalid)
	}
	if len(rec.Dropped) > 0 {
		event.Strs("dropped_fields", rec.Dropped)
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
	if len(w.Dropped) > 0 && w.Code == "" {
		w.Header().Set(request.HeaderDropped, strings.Join(w.Dropped, ", "))
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
