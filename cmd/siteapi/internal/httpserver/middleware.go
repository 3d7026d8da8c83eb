package httpserver

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/resolvers/graphqlhttp"
	"siteapi/rest"
	"siteapi/schema"
)

// WriteError answers with an error in the form of the request's endpoint.
func WriteError(w http.ResponseWriter, r *http.Request, e *schema.Error) {
	if strings.HasSuffix(r.URL.Path, GraphQLPath) {
		graphqlhttp.WriteError(w, r, e)
		return
	}
	rest.WriteProblem(w, r, e)
}

// withCaller puts the caller and the record of a request into the context, and the request
// id into the response. It names the route for metrics and traces.
func (s *Server) withCaller(operators, admin bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := proxies(s.Settings.TrustedProxies).caller(r)
		caller.Operators = operators
		caller.Local = admin && isLocal(r)
		w.Header().Set("X-Request-Id", caller.RequestID)

		rec := &record{namesDropped: s.Settings.Environment == config.Development}
		r = r.WithContext(schema.WithRecorder(schema.WithCaller(r.Context(), caller), rec))

		r.Pattern = s.pattern(r.URL.Path)
		next.ServeHTTP(w, r)
	})
}

// logAccess counts and logs each request, and answers 500 if a handler panicked. If the
// response has begun by then, it ends the connection.
func (s *Server) logAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, rec := time.Now(), recordOf(r.Context())
		response := &recordingWriter{w, rec}
		defer func() {
			failure := recover()
			begun := rec.status != 0
			cause, _ := failure.(error)
			if failure != nil && !errors.Is(cause, http.ErrAbortHandler) {
				s.Log.Error().Ctx(r.Context()).
					Str("panic", fmt.Sprint(failure)).
					Bytes("stack", debug.Stack()).
					Msg("a handler panicked")

				if !begun {
					WriteError(response, r, &schema.Error{
						Code: schema.CodeInternal,
						Message: "Something went wrong on our side. Request id: " +
							schema.CallerFrom(r.Context()).RequestID,
					})
				}
			}

			took := time.Since(began)
			s.metrics.request(r, rec, took)
			s.logRequest(r, rec, took)

			if failure != nil && begun {
				panic(http.ErrAbortHandler)
			}
		}()

		next.ServeHTTP(response, r)
	})
}

// logRequest leaves the query string out: it may contain the id of a lead, which
// gives access to its PDF. Of a method or a path that the service does not have, it leaves
// out what the client chose.
func (s *Server) logRequest(r *http.Request, rec *record, took time.Duration) {
	if rec.limited && !s.refusals.first(clientKey(schema.CallerFrom(r.Context()).Address)) {
		return
	}

	event := s.Log.WithLevel(rec.level())
	if !event.Enabled() {
		return
	}

	method := r.Method
	if !slices.Contains(methods, method) {
		method = "other"
	}
	path := s.pattern(r.URL.Path)
	if path == "" {
		event.Int("path_length", len(r.URL.Path))
		path = s.routedSegment(r.URL.Path) + "…"
	}

	event.Ctx(r.Context()).
		Str("method", method).
		Str("path", path).
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

// routedSegment returns the first segment of a path between its slashes, or an empty text
// if no route begins with it.
func (s *Server) routedSegment(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for route := range s.routes {
		if segment := "/" + first + "/"; first != "" && strings.HasPrefix(route+"/", segment) {
			return segment
		}
	}
	return ""
}

// setHeaders adds headers against type sniffing, and a policy under which nothing is
// loaded or framed; pages replace it. Pages of the origins may read responses. While the
// service drains, each connection is closed with its next response.
func (s *Server) setHeaders(origins []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodPost {
			h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		}
		if s.draining.Load() {
			h.Set("Connection", "close")
		}

		allowOrigin(h, origins, r.Header.Get("Origin"))
		next.ServeHTTP(w, r)
	})
}

// allowOrigin lets a page of one of the origins read the response. Where any origin may,
// every response says so: a shared cache keeps one for all.
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
		"X-Request-Id, ETag, Retry-After, Content-Disposition, "+schema.HeaderDropped)
}

// answerPreflights answers the preflight requests of pages that may read the response.
func answerPreflights(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" ||
			w.Header().Get("Access-Control-Allow-Origin") == "" {
			next.ServeHTTP(w, r)
			return
		}

		recordOf(r.Context()).routine = true
		allowMethods(w.Header())
		w.WriteHeader(http.StatusNoContent)
	})
}

// allowMethods names the methods and headers that pages may send.
func allowMethods(h http.Header) {
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers",
		"Authorization, Content-Type, Idempotency-Key, X-Request-Id, "+
			"Apollo-Require-Preflight, CF-Turnstile-Response, "+
			// Headers that tracing in browsers and clients of GraphQL add to each request.
			"traceparent, tracestate, baggage, sentry-trace, "+
			"apollographql-client-name, apollographql-client-version")
	h.Set("Access-Control-Max-Age", "7200") // seconds for which a browser keeps the answer
}
