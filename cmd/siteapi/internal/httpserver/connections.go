package httpserver

import (
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// clientShare is the part of all connections that one client may have.
	clientShare = 8
	// minIdle is how long a connection has to be idle before it may be closed for another.
	minIdle = 500 * time.Millisecond
)

// connections limits the connections of a server, and those of one client. Where there
// are too many, a new one replaces the one that has been idle longest; if none is, it is
// closed. Trusted proxies and this machine speak for many clients, so they have no limit
// of their own.
type connections struct {
	max     int
	proxies proxies

	mu   sync.Mutex
	open map[net.Conn]*connection
}

type connection struct {
	client string // empty: not limited
	busy   bool
	since  time.Time // when it was opened or became idle
}

// limitedListener accepts connections within the limits. The server's ConnState has to be
// the limits' track.
type limitedListener struct {
	net.Listener
	limits  *connections
	refused func()
}

// Accept returns the next connection that is not refused.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.limits.admit(c) {
			return c, err
		}
		l.refused()
		_ = c.Close()
	}
}

// admit counts a connection, in the place of another where there are too many.
func (l *connections) admit(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	client, own := l.client(c), 0
	for _, state := range l.open {
		if client != "" && state.client == client {
			own++
		}
	}
	tooMany := own >= max(1, l.max/clientShare)
	if tooMany || len(l.open) >= l.max {
		idle := l.longestIdle(func(state *connection) bool { return !tooMany || state.client == client })
		if idle == nil {
			return false
		}
		delete(l.open, idle)
		_ = idle.Close() // its server finds out by itself
	}
	l.open[c] = &connection{client: client, since: time.Now()}
	return true
}

func (l *connections) longestIdle(eligible func(*connection) bool) (found net.Conn) {
	least := time.Now().Add(-minIdle)
	for c, state := range l.open {
		if !state.busy && state.since.Before(least) && eligible(state) {
			found, least = c, state.since
		}
	}
	return found
}

// client is what a connection counts for; empty: it is not limited.
func (l *connections) client(c net.Conn) string {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	addr := tcp.AddrPort().Addr().Unmap()
	if addr.IsLoopback() || l.proxies.trusted(addr) {
		return ""
	}
	return clientKey(addr.String())
}

// track is the server's ConnState.
func (l *connections) track(c net.Conn, now http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state, ok := l.open[c]
	if !ok {
		return
	}
	switch now {
	case http.StateActive:
		state.busy = true
	case http.StateIdle:
		state.busy, state.since = false, time.Now()
	case http.StateClosed, http.StateHijacked:
		delete(l.open, c)
	case http.StateNew:
	}
}

// number is the number of open connections.
func (l *connections) number() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(len(l.open))
}
