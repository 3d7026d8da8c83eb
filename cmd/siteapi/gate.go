package main

import (
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"siteapi/schema"
)

// class is a kind of requests that compete for the same thing.
type class uint8

// The classes of requests.
const (
	classGraphQL class = iota
	classREST          // and everything else
	classLarge         // those with a large body, or of a size that is not known before
	classes
)

// String returns the class as a word for metrics.
func (c class) String() string { return [...]string{"graphql", "rest", "large"}[c] }

const (
	largeBody = 64 << 10 // bytes: more than any of the quote routes takes
	mostLarge = 32       // requests at a time: with bodies of 1 MiB they take 32 MiB
	busyWait  = time.Second
)

const (
	mostOfClient = 64 // requests of one client at a time
	largeWeight  = 8  // as how many of those a large one counts
	// unreadTime is how long a body that no endpoint has read may take to arrive before the
	// connection is closed.
	unreadTime = 500 * time.Millisecond
)

// gate bounds how many requests are worked on at a time: of one client, with large
// bodies, and of each class.
type gate struct {
	next      http.Handler
	most      int64 // of a class
	perClient int   // 0: any number
	shed      func(c class)
	busy      [classes]atomic.Int64

	mu      sync.Mutex
	clients map[string]int // by network
}

// ServeHTTP lets a request in or refuses it. It takes a place of its class once its body
// has arrived, so that slow bodies keep nobody else out.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, weight := classREST, 1
	large := r.ContentLength > largeBody || r.ContentLength < 0
	if large {
		weight = largeWeight
	}
	switch path := r.URL.Path; {
	case path == graphqlPath:
		c = classGraphQL
	case path == "/healthz" || path == "/readyz":
		g.next.ServeHTTP(w, r) // probes are never refused
		return
	}
	if r.Method != http.MethodPost && c != classGraphQL {
		w.Header()["Content-Security-Policy"] = noDocument
	}
	body := &arrivingBody{ReadCloser: r.Body, arrived: func() *schema.Error { return nil }}
	defer body.giveUp(w, r)
	client := network(visitor(w, r).Address)
	if !g.enter(client, weight) {
		refuse(w, r, &schema.Error{
			Code: schema.CodeRateLimited, Message: "There are too many requests from this address at a time.", RetryAfter: busyWait,
		})
		return
	}
	defer g.leave(client, weight)
	if large {
		defer g.busy[classLarge].Add(-1)
		if g.busy[classLarge].Add(1) > min(mostLarge, g.most) {
			g.refuse(w, r, classLarge)
			return
		}
	}
	taken := false
	defer func() {
		if taken {
			g.busy[c].Add(-1)
		}
	}()
	take := func() *schema.Error {
		if taken {
			return nil
		}
		taken = true
		if g.busy[c].Add(1) > g.most {
			return g.refused(w, c)
		}
		return nil
	}
	if r.ContentLength == 0 {
		if err := take(); err != nil {
			refuse(w, r, err)
			return
		}
	}
	body.arrived = take
	r.Body = body
	g.next.ServeHTTP(w, r)
}

// refused counts a request that is too much.
func (g *gate) refused(w http.ResponseWriter, c class) *schema.Error {
	g.shed(c)
	if v, ok := w.(*visit); ok {
		v.shed = true
	}
	return busy()
}

func (g *gate) refuse(w http.ResponseWriter, r *http.Request, c class) { refuse(w, r, g.refused(w, c)) }

// enter counts a request of a client unless it has too many.
func (g *gate) enter(client string, weight int) bool {
	if g.perClient == 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clients[client]+weight > g.perClient {
		return false
	}
	g.clients[client] += weight
	return true
}

func (g *gate) leave(client string, weight int) {
	if g.perClient == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clients[client] -= weight; g.clients[client] == 0 {
		delete(g.clients, client)
	}
}

// arrivingBody is a request body that asks for a place at its end, before the endpoint
// works on it. Its Read fails with a [schema.Error] where there is none.
type arrivingBody struct {
	io.ReadCloser
	arrived func() *schema.Error
	ended   bool
}

// Read implements [io.Reader].
func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.ended {
		b.ended = true
		if refused := b.arrived(); refused != nil {
			return n, refused
		}
	}
	return n, err
}

// giveUp has a body that nobody has read arrive soon, or the connection end.
func (b *arrivingBody) giveUp(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 && !b.ended {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTime)) // a writer of a test has none
	}
}

// noDocument tells a browser that what it opens as a page of its own is none: it loads
// nothing, and nobody may frame it. What answers a script needs no such word. The
// playground, which is a page, says otherwise.
var noDocument = []string{"default-src 'none'; frame-ancestors 'none'"}

// number is how many requests of a class are being worked on.
func (g *gate) number(c class) int64 { return g.busy[c].Load() }

// rendersAtOnce is how many documents are drawn at a time: it is work for processors.
func rendersAtOnce() int { return 2 * runtime.GOMAXPROCS(0) }
