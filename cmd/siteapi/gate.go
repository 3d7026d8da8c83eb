package main

import (
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
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

// gate bounds how many requests of each class are worked on at a time. What is too much
// is refused with 503 before its body is read, so that the rest is answered in time.
type gate struct {
	next http.Handler
	most int64 // of a class
	shed func(c class)
	busy [classes]struct {
		atomic.Int64
		_ [56]byte // each on a cache line of its own
	}
}

// ServeHTTP lets a request in or refuses it.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, most := classREST, g.most
	switch path := r.URL.Path; {
	case r.ContentLength > largeBody || r.ContentLength < 0:
		c, most = classLarge, min(mostLarge, g.most)
	case path == graphqlPath:
		c = classGraphQL
	case strings.HasSuffix(path, "z") && (path == "/healthz" || path == "/readyz"):
		g.next.ServeHTTP(w, r) // whoever watches over the process is never refused
		return
	}
	if r.Method != http.MethodPost && c != classGraphQL {
		w.Header()["Content-Security-Policy"] = noDocument
	}
	counter := &g.busy[c]
	defer counter.Add(-1)
	if counter.Add(1) > most {
		g.shed(c)
		if v, ok := w.(*visit); ok {
			v.shed = true
		}
		refuse(w, r, busy())
		return
	}
	g.next.ServeHTTP(w, r)
}

// noDocument tells a browser that what it opens as a page of its own is none: it loads
// nothing, and nobody may frame it. What answers a script needs no such word. The
// playground, which is a page, says otherwise.
var noDocument = []string{"default-src 'none'; frame-ancestors 'none'"}

// number is how many requests of a class are being worked on.
func (g *gate) number(c class) int64 { return g.busy[c].Load() }

// rendersAtOnce is how many documents are drawn at a time: it is work for processors.
func rendersAtOnce() int { return 2 * runtime.GOMAXPROCS(0) }
