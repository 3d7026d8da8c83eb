package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"

	"siteapi/resolvers/graphqlhttp"
	"siteapi/rest"
	"siteapi/schema"
)

// front is what every request passes on its way to a door: it finds out who is
// calling, sets the headers that every answer has, sheds what is too much, survives
// panics, and writes one log event.
type front struct {
	next    http.Handler
	callers *callers
	cors    *cors
	limit   func(r *http.Request, c *schema.Caller) *schema.Error // nil: nobody is limited
	observe func(route string, status int, took time.Duration)
	route   func(r *http.Request) string // name of the route, of few different values
	log     zerolog.Logger
}

// visit is all that the front remembers of a request, in one piece of memory. It is what
// the doors write their answer to.
type visit struct {
	recorder
	began   time.Time
	caller  schema.Caller
	shed    bool // it was too much: counted, and no error of anybody's
	kept    bool // answered with what was made before
	tracked bool // the state of a session was noted through GraphQL
}

// visitor returns who sent the request that w answers.
func visitor(_ http.ResponseWriter, r *http.Request) *schema.Caller {
	return schema.CallerFrom(r.Context())
}

// kept notes that w answers with what was made before.
func kept(w http.ResponseWriter) {
	if v, ok := w.(*visit); ok {
		v.kept = true
	}
}

// ServeHTTP answers one request.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := &visit{began: time.Now(), recorder: recorder{ResponseWriter: w}}
	v.caller.RequestID = requestID(r.Header)
	f.callers.read(r, &v.caller)
	r = r.WithContext(schema.WithCaller(r.Context(), &v.caller))
	h := w.Header()
	h["X-Request-Id"] = []string{v.caller.RequestID} // its own: the server reads it after the visit
	h["X-Content-Type-Options"] = nosniff
	defer f.end(v, r)
	if f.cors.apply(h, r) {
		v.WriteHeader(http.StatusNoContent)
		return
	}
	if f.limit != nil {
		if refused := f.limit(r, &v.caller); refused != nil {
			refuse(v, r, refused)
			return
		}
	}
	f.next.ServeHTTP(v, r)
}

// end is deferred: it answers where the handler panicked, counts the request and logs it.
func (f *front) end(v *visit, r *http.Request) {
	defer f.finish(v, r) // also after an answer that can only be cut off
	if value := recover(); value != nil {
		f.recovered(v, r, value)
	}
}

// refuse answers with an error in the form of the door that was asked.
func refuse(w http.ResponseWriter, r *http.Request, e *schema.Error) {
	if r.URL.Path == graphqlPath {
		graphqlhttp.WriteError(w, r, e)
		return
	}
	rest.WriteProblem(w, r, e)
}

// nosniff is the value of a header that nearly every answer has, made once. Such headers
// stay few: more than eight in all cost Go's maps a larger table, twice.
var nosniff = []string{"nosniff"}

// recovered answers a request whose handler panicked. An answer that has begun can
// only be cut off.
func (f *front) recovered(v *visit, r *http.Request, value any) {
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	id := v.caller.RequestID
	f.log.Error().Ctx(r.Context()).Str("request_id", id).Str("panic", fmt.Sprint(value)).Bytes("stack", debug.Stack()).Msg("a handler panicked")
	if v.status != 0 {
		panic(http.ErrAbortHandler)
	}
	refuse(v, r, &schema.Error{
		Code: schema.CodeInternal, Message: "Something went wrong on our side. Request id: " + id,
	})
}

// finish counts and logs a request. The query string is left out: it may hold the id
// of a submission, which is all it takes to read it.
func (f *front) finish(v *visit, r *http.Request) {
	took := time.Since(v.began)
	status := cmp.Or(v.status, http.StatusOK)
	if f.observe != nil {
		f.observe(f.route(r), status, took)
	}
	level := zerolog.InfoLevel
	switch {
	case len(v.caller.Summary.DroppedFields) > 0: // only in development
	case v.kept, v.tracked, r.URL.Path == trackPath && status == http.StatusOK:
		level = zerolog.DebugLevel // one of very many alike
	case status >= http.StatusInternalServerError && !v.shed:
		level = zerolog.ErrorLevel
	}
	event := f.log.WithLevel(level)
	if event == nil {
		return
	}
	if said := &v.caller.Summary; said.Operation != "" || said.Code != "" {
		event.Str("operation", said.Operation).Strs("root_fields", said.RootFields)
		if said.Code != "" {
			event.Str("code", string(said.Code))
		}
		if len(said.InvalidFields) > 0 {
			event.Strs("invalid_fields", said.InvalidFields)
		}
		if len(said.DroppedFields) > 0 {
			event.Strs("dropped_fields", said.DroppedFields)
		}
	}
	event.Ctx(r.Context()).Str("request_id", v.caller.RequestID).Str("method", r.Method).Str("path", r.URL.Path).
		Int("status", status).Int64("bytes", v.bytes).Dur("took_ms", took).Msg("request")
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader remembers the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController the writer below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
