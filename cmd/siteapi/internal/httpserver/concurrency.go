package httpserver

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"siteapi/schema"
)

// Classes of requests that compete for the same slots, as they are called in metrics.
const (
	classGraphQL = "graphql"
	classREST    = "rest" // and everything else
	classLarge   = "large"
)

const (
	largeBody    = 64 << 10 // bytes: more than any of the quote routes takes
	maxLarge     = 32       // requests with large bodies at a time: with 1 MiB each they take 32 MiB
	maxPerClient = 64       // requests of one client at a time
	largeWeight  = 8        // of a request with a large body among those of its client
	retryAfter   = time.Second
	// unreadTimeout is how long a body that no endpoint reads may take to arrive before
	// the connection is closed.
	unreadTimeout = 500 * time.Millisecond
)

// concurrency limits the requests in flight: of each client, with large bodies, and of
// each class.
type concurrency struct {
	slots   map[string]*slots // by class
	clients *clientCounter    // nil: clients are not limited
}

func newConcurrency(maxRequests int, limitClients bool, m *metrics) *concurrency {
	c := &concurrency{slots: map[string]*slots{
		classGraphQL: {max: int64(maxRequests)}, classREST: {max: int64(maxRequests)},
		classLarge: {max: int64(min(maxLarge, maxRequests))},
	}}
	for class, s := range c.slots {
		s.shed = m.shed.WithLabelValues(class).Inc
		m.watch("http_requests_under_way", "Requests being worked on.", class, func() float64 { return float64(s.taken.Load()) })
	}
	if limitClients {
		c.clients = &clientCounter{flight: map[string]int{}}
	}
	return c
}

// limitConcurrency answers 429 where a client has too many requests in flight, and 503
// where all have. A request takes a slot of its class once its body has arrived, so slow
// bodies of some clients do not keep others out.
func (s *Server) limitConcurrency(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isProbe(r) {
			next.ServeHTTP(w, r)
			return
		}
		class, weight, large := classREST, 1, r.ContentLength > largeBody || r.ContentLength < 0
		if r.URL.Path == GraphQLPath {
			class = classGraphQL
		}
		if large {
			weight = largeWeight
		}
		own, memory := &slot{of: s.requests.slots[class]}, &slot{of: s.requests.slots[classLarge]}
		defer own.release()
		defer memory.release()
		body := &limitedBody{ReadCloser: r.Body, slot: own, read: r.ContentLength == 0}
		defer body.expire(w)
		client := clientKey(schema.CallerFrom(r.Context()).Address)
		if !s.requests.clients.enter(client, weight) {
			WriteError(w, r, &schema.Error{
				Code: schema.CodeRateLimited, Message: "There are too many requests from this address at a time.", RetryAfter: retryAfter,
			})
			return
		}
		defer s.requests.clients.leave(client, weight)
		var refused *schema.Error
		if large {
			refused = memory.take()
		} else if body.read {
			refused = own.take()
		}
		if refused != nil {
			WriteError(w, r, refused)
			return
		}
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// slots limits the requests of one class.
type slots struct {
	max   int64
	taken atomic.Int64
	shed  func() // counts a request that found no slot
}

// slot is the slot of one request, if it has one.
type slot struct {
	of    *slots
	taken bool
}

// take returns UPSTREAM_UNAVAILABLE where there is no slot.
func (s *slot) take() *schema.Error {
	if s.taken {
		return nil
	}
	if s.of.taken.Add(1) > s.of.max {
		s.of.taken.Add(-1)
		s.of.shed()
		return &schema.Error{
			Code: schema.CodeUpstreamUnavailable, Message: "The service is busy. Please try again.", RetryAfter: retryAfter,
		}
	}
	s.taken = true
	return nil
}

func (s *slot) release() {
	if s.taken {
		s.of.taken.Add(-1)
	}
}

// limitedBody is a request body that takes a slot at its end, before the endpoint works on
// it. Where there is none Read fails with a [schema.Error].
type limitedBody struct {
	io.ReadCloser
	slot *slot
	read bool // to its end
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.read = true
		if refused := b.slot.take(); refused != nil {
			return n, refused
		}
	}
	return n, err
}

// expire lets a body that was not read arrive soon, or the connection end.
func (b *limitedBody) expire(w http.ResponseWriter) {
	if !b.read {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTimeout)) // no connection in a test
	}
}

// clientCounter counts the requests in flight by client.
type clientCounter struct {
	mu     sync.Mutex
	flight map[string]int
}

// enter counts a request unless its client has too many in flight.
func (c *clientCounter) enter(client string, weight int) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight[client]+weight > maxPerClient {
		return false
	}
	c.flight[client] += weight
	return true
}

func (c *clientCounter) leave(client string, weight int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight[client] -= weight; c.flight[client] <= 0 {
		delete(c.flight, client)
	}
}
