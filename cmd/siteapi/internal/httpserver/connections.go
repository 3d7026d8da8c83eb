package httpserver

import (
	"net"
	"sync"

	"siteapi/integrations/ratelimit"
)

// connections is a listener that limits all connections, and those of one client to an
// eighth of the limit. It closes connections above a limit. Trusted proxies and this
// machine act for many clients, so only the total limit applies to them.
type connections struct {
	net.Listener
	max     int
	proxies proxies
	refused func() // counts a refused connection

	mu      sync.Mutex
	open    int
	clients map[string]int // open connections of each client
}

func newConnections(most int, proxies proxies) *connections {
	return &connections{max: most, proxies: proxies, clients: map[string]int{}}
}

// Accept returns the next connection within the limits.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		client := l.client(c)
		if l.enter(client) {
			return &connection{Conn: c, leave: sync.OnceFunc(func() { l.leave(client) })}, nil
		}
		l.refused()
		_ = c.Close()
	}
}

// connection is counted until it is closed.
type connection struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *connection) Close() error {
	c.leave()
	return c.Conn.Close()
}

// enter counts a connection. It returns false if a limit is reached.
func (l *connections) enter(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.open >= l.max || client != "" && l.clients[client] >= max(1, l.max/8) {
		return false
	}
	l.open++
	if client != "" {
		l.clients[client]++
	}
	return true
}

func (l *connections) leave(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.open--
	if l.clients[client]--; l.clients[client] <= 0 {
		delete(l.clients, client)
	}
}

// client returns the key of a connection's client, or "" if only the total limit applies.
func (l *connections) client(c net.Conn) string {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return ""
	}

	addr := tcp.AddrPort().Addr().Unmap()
	if addr.IsLoopback() || l.proxies.trusted(addr) {
		return ""
	}
	return ratelimit.Networks(addr.String())[0].Name
}

// number returns the number of open connections.
func (l *connections) number() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.open)
}
