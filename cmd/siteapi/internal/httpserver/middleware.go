package httpserver

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/resolvers/graphqlhttp"
	"siteapi/schema"
	"siteapi/schema/request"
)

// writeError writes an error in the format of the request's endpoint.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, e *schema.Error) {
	switch {
	case strings.HasSuffix(r.URL.Path, GraphQLPath):
		graphqlhttp.WriteError(w, r, e)
	case s.SignIn != nil && inbox.SignsIn(r):
		s.SignIn.Refuse(w, r, e)
	default:
		s.REST.WriteError(w, r, e)
	}
}

// observe adds the caller and the record of a request to its context, and counts and logs
// the request when it ends. It sets the pattern of the request for metrics and traces. On
// ADMIN_ADDR, operators' fields are served and no pages of other origins.
func (s *Server) observe(admin bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &record{counted: map[string]int{}}
		rec.NamesDropped = s.Settings.Environment == config.Development
		caller := proxies(s.Settings.TrustedProxies).caller(r)
		caller.Operators = admin || s.Settings.AdminPage
		caller.Admin = admin
		caller.Local = admin && isLocal(r)

		rec.endpoint, r.Pattern = s.endpoint(r)
		r = r.WithContext(withRecord(request.WithCaller(r.Context(), caller), rec))
		telemetry.DescribeRequest(r)

		s.setHeaders(w.Header(), r)
		response := &recordingWriter{w, rec}
		defer s.finish(response, r, began)
		next.ServeHTTP(response, r)
	})
}

// finish counts and logs a request. If the handler panicked, it sends the status 500, or
// closes the connection if the response has begun.
func (s *Server) finish(w *recordingWriter, r *http.Request, began time.Time) {
	failure := recover()
	begun := w.status != 0
	cause, _ := failure.(error)
	if failure != nil && !errors.Is(cause, http.ErrAbortHandler) {
		s.Log.Error().Ctx(r.Context()).
			Str("panic", s.panics.Describe(failure)).
			Msg("handler panicked")

		if !begun {
			s.writeError(w, r, schema.Internal(request.CallerFrom(r.Context()).RequestID))
		}
	}

	took := time.Since(began)
	s.metrics.request(r, w.record, took)
	s.logRequest(r, w.record, took)

	if failure != nil && begun {
		panic(http.ErrAbortHandler)
	}
}

// logRequest logs a request without its query, which may contain the id of a lead and
// thus give access to its PDF. Unknown methods and paths are not logged, since clients
// choose them.
func (s *Server) logRequest(r *http.Request, rec *record, took time.Duration) {
	log := s.Log
	if rec.limited || rec.Code == schema.CodeRateLimited {
		log = s.refusedLog
	}
	event := log.WithLevel(rec.level())
	if !event.Enabled() {
		return
	}

	method := r.Method
	if !slices.Contains(methods, method) {
		method = "other"
	}
	if r.Pattern == "" {
		event.Int("path_length", len(r.URL.Path))
	}

	event.Ctx(r.Context()).
		Str("method", method).
		Str("path", cmp.Or(r.Pattern, "…")).
		Int("status", rec.status).
		Int64("bytes", rec.bytes).
		Dur("took_ms", took).
		EmbedObject(rec).
		Msg("request")
}

// methods are the methods of HTTP.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

// setHeaders adds the request id, CORS headers, a header against type sniffing, and a
// content policy that allows nothing, which pages replace. While the service drains, each
// connection is closed after its next response.
func (s *Server) setHeaders(h http.Header, r *http.Request) {
	h.Set("X-Request-Id", request.CallerFrom(r.Context()).RequestID)
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodPost {
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	}
	if s.draining.Load() {
		h.Set("Connection", "close")
	}
	if !request.CallerFrom(r.Context()).Admin {
		allowOrigin(h, s.Settings.CORSOrigins, r.Header.Get("Origin"))
	}
}

// allowOrigin lets pages of the origins read the response. If every origin is allowed, all
// responses have the same header, because a shared cache stores one response for all.
func allowOrigin(h http.Header, origins []string, origin string) {
	switch {
	case slices.Contains(origins, "*"):
		origin = "*"
	case len(origins) > 0:
		h.Add("Vary", "Origin")
	}
	if origin == "" || !slices.Contains(origins, origin) {
		return
	}

	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers",
		"X-Request-Id, ETag, Retry-After, Content-Disposition, "+request.HeaderDropped)
}

// isPreflight reports whether a request is a CORS preflight request of an allowed origin.
func isPreflight(r *http.Request, response http.Header) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" &&
		response.Get("Access-Control-Allow-Origin") != ""
}

// headerName matches a header name other than *, which would allow any header.
var headerName = regexp.MustCompile("^[!#$%&'+.^_`|~0-9A-Za-z-]+$")

// maxAskedHeaders is the maximum length of a list of headers that a preflight request asks for.
const maxAskedHeaders = 1 << 10

// allowMethods lists the methods and headers that pages may send. A page of a listed origin
// may also send the headers that it asks for, such as those of tracing libraries, except that
// of previews.
func allowMethods(h, asked http.Header) {
	names := "Authorization, Content-Type, Idempotency-Key, X-Request-Id, " +
		"Apollo-Require-Preflight, CF-Turnstile-Response, " +
		// Browser tracing libraries and GraphQL clients add these headers.
		"traceparent, tracestate, baggage, sentry-trace, " +
		"apollographql-client-name, apollographql-client-version"

	if h.Get("Access-Control-Allow-Origin") != "*" {
		h.Add("Vary", "Access-Control-Request-Headers")
		list := strings.Join(asked.Values("Access-Control-Request-Headers"), ",")
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			if len(list) <= maxAskedHeaders && headerName.MatchString(name) &&
				!strings.EqualFold(name, headerPreview) {
				names += ", " + name
			}
		}
	}

	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", names)
	h.Set("Access-Control-Max-Age", "7200") // seconds
}
