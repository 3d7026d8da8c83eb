package httpserver

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// clientShare is the part of all connections that one client may have.
const clientShare = 8

// connections is a listener that limits the connections of a server, and those of one client; a further one is closed.
// Trusted proxies and this machine speak for many clients, so they have no limit of their own.
type connections struct {
	net.Listener
	max       int
	proxies   proxies
	refused   func()
	closeIdle func()
	lastClose rate.Sometimes

	mu   sync.Mutex
	open map[net.Conn]string // the client; empty: not limited
}

// limit accepts the connections of a server within the limits.
func (l *connections) limit(listener net.Listener, server *http.Server) net.Listener {
	l.Listener, l.lastClose.Interval = listener, time.Second
	l.closeIdle = func() {
		server.SetKeepAlivesEnabled(false) // closes those that are idle
		server.SetKeepAlivesEnabled(true)
	}
	server.ConnState = func(c net.Conn, now http.ConnState) {
		if now == http.StateClosed || now == http.StateHijacked {
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.open, c)
		}
	}
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

// admit counts a connection unless there are too many. Where few more may be opened, those that are idle make room.
func (l *connections) admit(c net.Conn) bool {
	if l.number() >= l.max-l.max/clientShare {
		l.lastClose.Do(l.closeIdle)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	client, own := l.client(c), 0
	for _, other := range l.open {
		if client != "" && other == client {
			own++
		}
	}
	if len(l.open) >= l.max || own >= max(1, l.max/clientShare) {
		return false
	}
	l.open[c] = client
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

// number is the number of open connections.
func (l *connections) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}
