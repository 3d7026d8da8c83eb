package httpserver

import (
	"net"
	"net/http"
	"slices"
	"testing"
)

// arrivals is a listener whose connections come from these addresses.
type arrivals []string

func (a *arrivals) Accept() (net.Conn, error) {
	if len(*a) == 0 {
		return nil, net.ErrClosed
	}
	c := &arrival{addr: &net.TCPAddr{IP: net.ParseIP((*a)[0]), Port: 1}}
	*a = (*a)[1:]
	return c, nil
}
func (*arrivals) Close() error   { return nil }
func (*arrivals) Addr() net.Addr { return nil }

type arrival struct {
	net.Conn
	addr net.Addr
}

func (a *arrival) RemoteAddr() net.Addr { return a.addr }
func (*arrival) Close() error           { return nil }

// One client, address or /64, has an eighth of all connections, and again once it has closed one.
func TestConnectionsOfOneClient(t *testing.T) {
	t.Parallel()
	const client, other = "2001:db8::1", "2001:db8:1::1"
	l := newConnections(16, nil)
	l.open.shed = func() {}
	from := &arrivals{client, "2001:db8::2", client, other, "127.0.0.1", "127.0.0.1", "127.0.0.1", "::1"}
	server, got := &http.Server{}, []string{}
	l.limit(from, server)
	var first net.Conn
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		if first == nil {
			first = c
		}
		got = append(got, c.RemoteAddr().(*net.TCPAddr).IP.String())
	}
	if want := []string{client, "2001:db8::2", other, "127.0.0.1", "127.0.0.1", "127.0.0.1", "::1"}; !slices.Equal(got, want) {
		t.Errorf("accepted %q, want %q", got, want)
	}
	server.ConnState(first, http.StateClosed)
	*from = arrivals{client}
	if _, err := l.Accept(); err != nil {
		t.Error("a client that has closed a connection is refused")
	}
}
