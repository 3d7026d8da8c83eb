package httpserver

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

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

// withCaller puts the caller into the context and the request id into the response, and
// names the route for metrics and traces.
func (s *Server) withCaller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := proxies(s.Settings.TrustedProxies).caller(r)
		w.Header().Set("X-Request-Id", caller.RequestID)
		r = r.WithContext(schema.WithCaller(r.Context(), caller))

		if s.routes[r.URL.Path] != nil {
			r.Pattern = r.URL.Path
		}

		next.ServeHTTP(w, r)
	})
}

// logAccess counts and logs each request, and answers 500 if a handler panicked. If the
// response has begun by then, it ends the connection.
func (s *Server) logAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, response := time.Now(), &recorder{ResponseWriter: w}
		defer func() {
			failure := recover()
			begun := response.status != 0
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
			s.metrics.request(r, response, took)
			s.logRequest(r, response, took)

			if failure != nil && begun {
				panic(http.ErrAbortHandler)
			}
		}()

		next.ServeHTTP(response, r)
	})
}

// logRequest leaves the query string out: it may contain the id of a submission, which
// gives access to its PDF. Frequent successes, which are reads of public content and
// tracked sessions, are logged at the debug level.
func (s *Server) logRequest(r *http.Request, response *recorder, took time.Duration) {
	summary, level := &schema.CallerFrom(r.Context()).Summary, zerolog.InfoLevel
	switch {
	case response.status == http.StatusInternalServerError:
		level = zerolog.ErrorLevel
	case len(summary.DroppedFields) > 0:
	case summary.Public, summary.Code == "" && slices.Equal(summary.RootFields, []string{"trackQuote"}):
		level = zerolog.DebugLevel
	}

	event := s.Log.WithLevel(level)
	if !event.Enabled() {
		return
	}

	event.Ctx(r.Context()).
		Str("method", r.Method).
		Str("path", r.URL.Path).
		Int("status", response.status).
		Int64("bytes", response.bytes).
		Dur("took_ms", took)

	if summary.Operation != "" {
		event.Str("operation", summary.Operation).Strs("root_fields", summary.RootFields)
	}
	if summary.OperationName != "" {
		event.Str("operation_name", summary.OperationName)
	}
	if summary.Code != "" {
		event.Str("code", string(summary.Code))
	}
	if len(summary.InvalidFields) > 0 {
		event.Strs("invalid_fields", summary.InvalidFields)
	}
	if len(summary.DroppedFields) > 0 {
		event.Strs("dropped_fields", summary.DroppedFields)
	}

	event.Msg("request")
}

// setHeaders adds headers against type sniffing, and a policy under which nothing is
// loaded or framed; pages replace it. While the service drains, each connection is closed
// with its next response.
func (s *Server) setHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodPost {
			w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		}
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}

		next.ServeHTTP(w, r)
	})
}

// allowOrigins answers preflight requests and lets pages of the site read responses. Where
// any origin may, every response says so: a shared cache keeps one for all.
func (s *Server) allowOrigins(next http.Handler) http.Handler {
	origins := s.Settings.CORSOrigins
	anyOrigin := slices.Contains(origins, "*")

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, origin := w.Header(), r.Header.Get("Origin")
		switch {
		case anyOrigin:
			origin = "*"
		case len(origins) > 0:
			h.Add("Vary", "Origin")
		}

		if origin == "" || !slices.Contains(origins, origin) {
			next.ServeHTTP(w, r)
			return
		}

		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers",
			"X-Request-Id, ETag, Retry-After, Content-Disposition, X-Dropped-Fields")

		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
			h.Set("Access-Control-Allow-Headers",
				"Authorization, Content-Type, Idempotency-Key, X-Request-Id, "+
					"Apollo-Require-Preflight, CF-Turnstile-Response")
			h.Set("Access-Control-Max-Age", "7200") // seconds for which a browser keeps the answer
			w.WriteHeader(http.StatusNoContent)
			return
		}

		next.ServeHTTP(w, r)
	})
}

// recorder remembers the status and the size of a response.
type recorder struct {
	http.ResponseWriter
	status int // 0: the response has not begun
	bytes  int64
}

// WriteHeader remembers the status.
func (r *recorder) WriteHeader(status int) {
	if status >= http.StatusOK {
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

// Unwrap returns the underlying writer, for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
