package httpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"siteapi/schema"
)

// Classes of requests in flight. Each client is a class, too.
const (
	classAll     = "all"
	classReading = "reading" // large bodies that have not arrived yet
	classLarge   = "large"   // large bodies that are being worked on
	classToken   = "token"   // requests with a valid token, which count in no other class but their client's
)

// Most requests of some classes at a time. 16 bodies of 1 MiB take 160 MiB when they are
// decoded.
const (
	maxReading  = 64
	maxLarge    = 16
	maxToken    = 64
	maxOfClient = 64 // the sum of their weights
)

// A body of more than largeBody bytes is large. No quote route takes one. It weighs as much
// as largeWeight requests of its client.
const (
	largeBody   = 64 << 10
	largeWeight = 16
)

// limitRequests answers 429 if a client uses a route too often or has too many requests
// in flight, and 503 if all clients together have too many. A POST counts among all
// requests once its body has arrived, and as large once so much of it has, so slow clients
// do not block others. Requests with a valid token do not compete with those without.
func (s *Server) limitRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isProbe(r) {
			recordOf(r.Context()).routine = true
			next.ServeHTTP(w, r)
			return
		}

		body := &limitedBody{ReadCloser: r.Body, server: s, record: recordOf(r.Context())}
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
	record  *record
	client  string // the class of its client
	trusted bool   // The request has a valid token.
	size    int    // number of bytes that were read so far
	read    bool   // the body was read to its end
	entered []entry
}

type entry struct {
	class  string
	weight int
}

// admit checks the limits that apply before the body is read.
func (b *limitedBody) admit(r *http.Request) *schema.Error {
	caller := schema.CallerFrom(r.Context())
	b.client, b.trusted = clientKey(caller.Address), b.server.validToken(caller.Token())

	if limits := b.server.RateLimits; limits != nil {
		if refused := b.enter(b.client, 1, maxOfClient); refused != nil {
			return refused
		}
		if refused := limits.check(r); refused != nil {
			return refused
		}
	}

	b.read = r.ContentLength == 0
	switch {
	case b.trusted:
		return b.enter(classToken, 1, maxToken)
	case b.read, r.Method != http.MethodPost: // the body is not read
		return b.enter(classAll, 1, b.server.Settings.MaxRequests)
	}
	return nil
}

// Read counts the request as large once so much of its body has arrived, and among all
// requests once the whole body has. It fails with a [schema.Error] if there are too many.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	wasLarge := b.size > largeBody
	b.size += n

	if !wasLarge && b.size > largeBody {
		if refused := b.enterLarge(); refused != nil {
			return n, refused
		}
	}

	if err == io.EOF && !b.read {
		b.read = true
		if refused := b.enterWhole(); refused != nil {
			return n, refused
		}
	}
	return n, err
}

// enterLarge counts the request whose body turns out to be large.
func (b *limitedBody) enterLarge() *schema.Error {
	if b.server.RateLimits != nil {
		if refused := b.enter(b.client, largeWeight-1, maxOfClient); refused != nil {
			return refused
		}
	}
	if b.trusted {
		return nil
	}
	return b.enter(classReading, 1, maxReading)
}

// enterWhole counts the request whose body has arrived.
func (b *limitedBody) enterWhole() *schema.Error {
	if b.trusted {
		return nil
	}

	if b.size > largeBody {
		b.leave(classReading)
		if refused := b.enter(classLarge, 1, min(maxLarge, b.server.Settings.MaxRequests)); refused != nil {
			return refused
		}
	}
	return b.enter(classAll, 1, b.server.Settings.MaxRequests)
}

// leave ends the counting of the request in a class.
func (b *limitedBody) leave(class string) {
	b.entered = slices.DeleteFunc(b.entered, func(e entry) bool {
		if e.class == class {
			b.server.inFlight.add(class, -e.weight, math.MaxInt)
		}
		return e.class == class
	})
}

// validToken reports whether a token is one of the service's, of whatever kind. Which fields
// it gives access to is checked when they are executed.
func (s *Server) validToken(token string) bool {
	if token == "" {
		return false
	}

	sum, match := sha256.Sum256([]byte(token)), 0
	for _, tokens := range [][]string{
		s.Settings.CacheTokens, s.Settings.WebhookSecrets, s.Settings.AdminTokens,
	} {
		for _, accepted := range tokens {
			digest := sha256.Sum256([]byte(accepted))
			match |= subtle.ConstantTimeCompare(sum[:], digest[:])
		}
	}
	return match == 1
}

// enter counts the request in a class until it is done. It returns an error if the class
// is full.
func (b *limitedBody) enter(class string, weight, most int) *schema.Error {
	if b.server.inFlight.add(class, weight, most) {
		b.entered = append(b.entered, entry{class, weight})
		return nil
	}

	b.record.limited = true
	if class != b.client {
		b.server.metrics.shed.WithLabelValues(class).Inc()
		return &schema.Error{
			Code:       schema.CodeUpstreamUnavailable,
			Message:    "The service is busy. Please try again.",
			RetryAfter: time.Second,
		}
	}

	return &schema.Error{
		Code:       schema.CodeRateLimited,
		Message:    "There are too many requests from this address at a time.",
		RetryAfter: time.Second,
	}
}

// leaveAll ends the counting of the request, which goes on as a stream.
func (b *limitedBody) leaveAll() {
	for _, e := range b.entered {
		b.server.inFlight.add(e.class, -e.weight, math.MaxInt)
	}
	b.entered = nil
}

// done ends the request. A body that was not read must arrive within half a second, or
// the connection is closed: the server reads the body before it sends the response.
func (b *limitedBody) done(w http.ResponseWriter) {
	b.leaveAll()
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
