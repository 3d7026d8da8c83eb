package httpserver

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// clientShare is the part of all connections that one client may have.
	clientShare = 8
	// minIdle is how long a connection has to be idle before it may be closed for another.
	minIdle = 500 * time.Millisecond
	// firstRequestTimeout is how long the first requests of connections that were accepted
	// last are waited for at a stop.
	firstRequestTimeout = time.Second
)

// connections limits the connections of a server, and those of one client. Where there
// are too many, a new one replaces the one that has been idle longest; if none is, it is
// refused with 503. Trusted proxies and this machine speak for many clients, so they have
// no limit of their own.
type connections struct {
	max     int
	proxies proxies
	metrics *metrics
	refusal chan struct{} // bounds the connections that are being refused

	mu      sync.Mutex
	open    map[net.Conn]*connection
	clients map[string]int
}

type connection struct {
	client string // empty: not limited
	idle   bool
	since  time.Time // when it became idle
	fresh  bool      // its first request has not been read
}

func newConnections(most int, trusted []netip.Prefix, m *metrics) *connections {
	l := &connections{
		max: most, proxies: trusted, metrics: m, refusal: make(chan struct{}, 64),
		open: map[net.Conn]*connection{}, clients: map[string]int{},
	}
	m.watch("connections", "Open connections of clients.", "", func() float64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return float64(len(l.open))
	})
	return l
}

// limit returns the listener behind the limit. The server's ConnState has to be track.
func (l *connections) limit(inner net.Listener) net.Listener { return &limitedListener{inner, l} }

type limitedListener struct {
	net.Listener
	limit *connections
}

// Accept returns the next connection that is not refused.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.limit.admit(c) {
			return c, err
		}
		l.limit.metrics.refused.Inc()
		l.limit.refuse(c)
	}
}

// admit counts a connection, in the place of another where there are too many.
func (l *connections) admit(c net.Conn) bool {
	client := l.client(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	tooMany := client != "" && l.clients[client] >= max(1, l.max/clientShare)
	if tooMany || len(l.open) >= l.max {
		longest := l.longestIdle(func(o *connection) bool { return !tooMany || o.client == client })
		if longest == nil {
			return false
		}
		l.remove(longest)
		_ = longest.Close() // its server finds out by itself
	}
	l.open[c] = &connection{client: client, idle: true, since: time.Now(), fresh: true}
	if client != "" {
		l.clients[client]++
	}
	return true
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

func (l *connections) longestIdle(eligible func(*connection) bool) (found net.Conn) {
	least := time.Now().Add(-minIdle)
	for c, state := range l.open {
		if state.idle && state.since.Before(least) && eligible(state) {
			found, least = c, state.since
		}
	}
	return found
}

// remove is called with the lock held.
func (l *connections) remove(c net.Conn) {
	state, ok := l.open[c]
	if !ok {
		return
	}
	delete(l.open, c)
	if state.client == "" {
		return
	}
	if l.clients[state.client]--; l.clients[state.client] == 0 {
		delete(l.clients, state.client)
	}
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
		state.idle, state.fresh = false, false
	case http.StateIdle:
		state.idle, state.since = true, time.Now()
	case http.StateClosed, http.StateHijacked:
		l.remove(c)
	case http.StateNew:
	}
}

// awaitFirstRequests waits until the first request of each connection has been read. The
// server's Shutdown drops those that it reads after it has begun.
func (l *connections) awaitFirstRequests() {
	const pause = 2 * time.Millisecond
	fresh := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, state := range l.open {
			if state.fresh {
				return true
			}
		}
		return false
	}
	for end := time.Now().Add(firstRequestTimeout); fresh() && time.Now().Before(end); {
		time.Sleep(pause)
	}
	time.Sleep(pause) // from the reading of a request to its handler
}

// busyResponse answers a connection whose request is not read, so it has no request id.
const busyResponse = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\n" +
	"Retry-After: 1\r\nConnection: close\r\nContent-Length: 161\r\n\r\n" +
	`{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"The service is busy. Please try again.",` +
	`"code":"UPSTREAM_UNAVAILABLE","success":false}`

// refuse answers 503 and closes the connection a moment later: at once would take the
// response away from a client that is still sending.
func (l *connections) refuse(c net.Conn) {
	select {
	case l.refusal <- struct{}{}:
	default: // too many to answer all
		_ = c.Close()
		return
	}
	go func() {
		defer func() { <-l.refusal }()
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(unreadTimeout))
		if _, err := io.WriteString(c, busyResponse); err != nil {
			return
		}
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		_, _ = io.CopyN(io.Discard, c, largeBody)
	}()
}
