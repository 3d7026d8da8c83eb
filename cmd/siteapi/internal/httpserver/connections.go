package httpserver

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// connections is a listener that limits the connections of a server, and those of one
// client to an eighth of them. When there are too many, a new connection replaces the one
// that has been idle longest, for half a second at least; if there is none, the new one
// is closed. Trusted proxies and this machine act for many clients, so only the total
// limit applies to them.
type connections struct {
	net.Listener
	max     int
	proxies proxies
	refused func() // counts a new connection that was closed

	mu   sync.Mutex
	open map[net.Conn]*connection
}

type connection struct {
	client string // empty if only the total limit applies
	busy   bool
	since  time.Time // time at which it was opened or became idle
}

func newConnections(most int, proxies proxies) *connections {
	return &connections{max: most, proxies: proxies, open: map[net.Conn]*connection{}}
}

// limit accepts the connections of a server within the limits.
func (l *connections) limit(listener net.Listener, server *http.Server) net.Listener {
	l.Listener, server.ConnState = listener, l.track
	return l
}

// Accept returns the next connection that is not refused.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.admit(c) {
			return c, err
		}
		l.refused()
		_ = c.Close()
	}
}

// admit counts a connection. If there are too many, it closes an idle one first, and
// reports false if there is none.
func (l *connections) admit(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	client, own := l.client(c), 0
	for _, state := range l.open {
		if client != "" && state.client == client {
			own++
		}
	}

	tooMany := own >= max(1, l.max/8)
	if tooMany || len(l.open) >= l.max {
		idle := l.longestIdle(func(state *connection) bool { return !tooMany || state.client == client })
		if idle == nil {
			return false
		}
		delete(l.open, idle)
		_ = idle.Close()
	}

	l.open[c] = &connection{client: client, since: time.Now()}
	return true
}

func (l *connections) longestIdle(eligible func(*connection) bool) (found net.Conn) {
	least := time.Now().Add(-500 * time.Millisecond)
	for c, state := range l.open {
		if !state.busy && state.since.Before(least) && eligible(state) {
			found, least = c, state.since
		}
	}
	return found
}

// client returns the client for which a connection counts, or "" if only the total limit
// applies.
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

// track is the ConnState callback of the server.
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

// number returns the number of open connections.
func (l *connections) number() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(len(l.open))
}
