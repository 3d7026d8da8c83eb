package httpserver

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"siteapi/schema"
)

const (
	maxPerClient = 64       // requests in flight of one client
	largeBody    = 64 << 10 // bytes: more than any of the quote routes takes
	largeWeight  = 16       // of a request with a large body among those of its client
	maxLarge     = 16       // requests with large bodies at a time: with 1 MiB each, decoded, they take 160 MiB
	retryAfter   = time.Second
	// unreadTimeout is how long a body that no endpoint reads may take to arrive before
	// the connection is closed.
	unreadTimeout = 500 * time.Millisecond
)

// limitRequests answers 429 if a client has used a route too often or has too many requests in flight, and 503 if all
// clients together have. A request takes its slot once its body has arrived, so slow clients do not block others.
func (s *Server) limitRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isProbe(r) {
			next.ServeHTTP(w, r)
			return
		}
		body := &limitedBody{ReadCloser: r.Body, slots: s.requests}
		defer body.done(w)
		large, weight := r.ContentLength > largeBody || r.ContentLength < 0, 1
		if large {
			weight = largeWeight
		}
		if s.RateLimits != nil {
			client := clientKey(schema.CallerFrom(r.Context()).Address)
			if !s.clients.enter(client, weight) {
				WriteError(w, r, &schema.Error{
					Code: schema.CodeRateLimited, Message: "There are too many requests from this address at a time.", RetryAfter: retryAfter,
				})
				return
			}
			defer s.clients.leave(client, weight)
			if refused := s.RateLimits.check(r); refused != nil {
				WriteError(w, r, refused)
				return
			}
		}
		if large {
			if !s.large.take() {
				WriteError(w, r, errBusy)
				return
			}
			defer s.large.release()
		}
		if r.ContentLength == 0 && body.arrived() != nil {
			WriteError(w, r, errBusy)
			return
		}
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// errBusy is the answer to a request that finds no slot.
var errBusy = &schema.Error{ //nolint:gochecknoglobals // never changes
	Code: schema.CodeUpstreamUnavailable, Message: "The service is busy. Please try again.", RetryAfter: retryAfter,
}

// limitedBody is a request body that takes a slot once it is read, before the endpoint
// processes it. If there is no free slot Read fails with a [schema.Error].
type limitedBody struct {
	io.ReadCloser
	slots *slots
	read  bool // to its end
	taken bool
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		if refused := b.arrived(); refused != nil {
			return n, refused
		}
	}
	return n, err
}

// arrived takes a slot, once.
func (b *limitedBody) arrived() error {
	b.read = true
	b.taken = b.taken || b.slots.take()
	if !b.taken {
		return errBusy
	}
	return nil
}

// done releases the slot. A body that was not read must arrive within unreadTimeout, or the
// connection is closed.
func (b *limitedBody) done(w http.ResponseWriter) {
	if b.taken {
		b.slots.release()
	}
	if !b.read {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTimeout)) // no connection in a test
	}
}

// slots limits the requests at a time.
type slots struct {
	max   int64
	taken atomic.Int64
	shed  func() // counts a refusal
}

func (s *slots) take() bool {
	if s.taken.Add(1) > s.max {
		s.taken.Add(-1)
		s.shed()
		return false
	}
	return true
}

func (s *slots) release() { s.taken.Add(-1) }

// clientCounter limits the requests of each client at a time.
type clientCounter struct {
	max    int
	mu     sync.Mutex
	counts map[string]int
}

// enter counts a request by its weight, and returns false if the client has too many.
func (c *clientCounter) enter(client string, weight int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[client]+weight > c.max {
		return false
	}
	c.counts[client] += weight
	return true
}

func (c *clientCounter) leave(client string, weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[client] -= weight; c.counts[client] <= 0 {
		delete(c.counts, client)
	}
}
