package httpserver

import (
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"siteapi/schema"
)

// Classes of requests in flight. Each client is a class, too.
const (
	classAll   = "all"
	classLarge = "large" // requests with large bodies
)

// limitRequests answers 429 if a client uses a route too often or has too many requests
// in flight, and 503 if all clients together have too many. A POST counts among all
// requests once its body has arrived, so slow clients do not block others.
func (s *Server) limitRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isProbe(r) {
			next.ServeHTTP(w, r)
			return
		}

		body := &limitedBody{ReadCloser: r.Body, server: s}
		defer body.done(w)
		if refused := body.admit(r); refused != nil {
			WriteError(w, r, refused)
			return
		}

		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// limitedBody is the body of a request, with the classes in which the request counts.
type limitedBody struct {
	io.ReadCloser
	server  *Server
	read    bool // the body was read to its end
	entered []entry
}

type entry struct {
	class  string
	weight int
}

// admit checks the limits that apply before the body is read.
func (b *limitedBody) admit(r *http.Request) *schema.Error {
	// No quote route takes a body of more than 64 KiB.
	large, weight := r.ContentLength > 64<<10 || r.ContentLength < 0, 1
	if large {
		weight = 16
	}

	if limits := b.server.RateLimits; limits != nil {
		if refused := b.enter(clientKey(schema.CallerFrom(r.Context()).Address), weight, 64); refused != nil {
			return refused
		}
		if refused := limits.check(r); refused != nil {
			return refused
		}
	}

	b.read = r.ContentLength == 0
	switch {
	case b.read, r.Method != http.MethodPost: // the body is not read
		return b.enter(classAll, 1, b.server.Settings.MaxRequests)
	case large: // 16 bodies of 1 MiB take 160 MiB when they are decoded
		return b.enter(classLarge, 1, min(16, b.server.Settings.MaxRequests))
	}
	return nil
}

// Read counts the request among all requests once its body has arrived. It fails with a
// [schema.Error] if there are too many.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.read {
		b.read = true
		if refused := b.enter(classAll, 1, b.server.Settings.MaxRequests); refused != nil {
			return n, refused
		}
	}
	return n, err
}

// enter counts the request in a class until it is done. It returns an error if the class
// is full.
func (b *limitedBody) enter(class string, weight, most int) *schema.Error {
	switch {
	case b.server.inFlight.add(class, weight, most):
		b.entered = append(b.entered, entry{class, weight})
		return nil

	case class == classAll || class == classLarge:
		b.server.metrics.shed.WithLabelValues(class).Inc()
		return &schema.Error{
			Code:       schema.CodeUpstreamUnavailable,
			Message:    "The service is busy. Please try again.",
			RetryAfter: time.Second,
		}

	default:
		return &schema.Error{
			Code:       schema.CodeRateLimited,
			Message:    "There are too many requests from this address at a time.",
			RetryAfter: time.Second,
		}
	}
}

// done ends the request. A body that was not read must arrive within half a second, or
// the connection is closed: the server reads the body before it sends the response.
func (b *limitedBody) done(w http.ResponseWriter) {
	for _, e := range b.entered {
		b.server.inFlight.add(e.class, -e.weight, math.MaxInt)
	}

	if !b.read {
		// This fails in tests only, which have no connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	}
}

// inFlight is the number of requests in flight by class.
type inFlight struct {
	mu     sync.Mutex
	counts map[string]int
}

// add adds n to the count of a class, unless the result would exceed most.
func (f *inFlight) add(class string, n, most int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	sum := f.counts[class] + n
	if sum > most {
		return false
	}

	if f.counts[class] = sum; sum == 0 {
		delete(f.counts, class)
	}
	return true
}

func (f *inFlight) number(class string) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return float64(f.counts[class])
}
