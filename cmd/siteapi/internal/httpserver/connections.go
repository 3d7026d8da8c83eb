package httpserver

import (
	"net"
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// clientShare is the fraction of all connections that one client may have.
const clientShare = 8

// connections is a listener that limits the connections of a server, and those of one client; a further one is closed.
// Trusted proxies and this machine act for many clients, so only the total limit applies to them.
type connections struct {
	net.Listener
	open      *slots
	clients   *clientCounter
	proxies   proxies
	closeIdle func()
	lastClose rate.Sometimes
}

func newConnections(most int, proxies proxies) *connections {
	return &connections{
		open: &slots{max: int64(most)}, proxies: proxies,
		clients: &clientCounter{max: max(1, most/clientShare), counts: map[string]int{}},
	}
}

// limit accepts the connections of a server within the limits.
func (l *connections) limit(listener net.Listener, server *http.Server) net.Listener {
	l.Listener, l.lastClose.Interval = listener, time.Second
	l.closeIdle = func() {
		server.SetKeepAlivesEnabled(false) // closes those that are idle
		server.SetKeepAlivesEnabled(true)
	}
	server.ConnState = func(c net.Conn, now http.ConnState) {
		if now == http.StateClosed {
			l.open.release()
			l.clients.leave(l.client(c))
		}
	}
	return l
}

// Accept returns the next connection that is not refused. Close to the limit, idle connections are closed.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.taken.Load() >= l.open.max-l.open.max/clientShare {
			l.lastClose.Do(l.closeIdle)
		}
		if l.open.take() {
			if l.clients.enter(l.client(c)) {
				return c, nil
			}
			l.open.release()
			l.open.shed()
		}
		_ = c.Close()
	}
}

// client returns the client that a connection counts for, and its weight.
func (l *connections) client(c net.Conn) (key string, weight int) {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return "", 0
	}
	addr := tcp.AddrPort().Addr().Unmap()
	if addr.IsLoopback() || l.proxies.trusted(addr) {
		return "", 0
	}
	return clientKey(addr.String()), 1
}
