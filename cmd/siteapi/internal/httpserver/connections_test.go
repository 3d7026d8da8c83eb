package httpserver

import (
	"net"
	"slices"
	"testing"
)

// arrivals is a listener with one connection from each address.
type arrivals []string

func (a *arrivals) Accept() (net.Conn, error) {
	if len(*a) == 0 {
		return nil, net.ErrClosed
	}
	c := arrival{addr: &net.TCPAddr{IP: net.ParseIP((*a)[0]), Port: 1}}
	*a = (*a)[1:]
	return c, nil
}

func (*arrivals) Close() error   { return nil }
func (*arrivals) Addr() net.Addr { return nil }

type arrival struct {
	net.Conn
	addr net.Addr
}

func (a arrival) RemoteAddr() net.Addr { return a.addr }
func (arrival) Close() error           { return nil }

// A client, which is an address or a /64 network, may have an eighth of all connections.
func TestConnectionsOfOneClient(t *testing.T) {
	t.Parallel()
	const client, other = "2001:db8::1", "2001:db8:1::1"
	l, refused := newConnections(16, nil), 0
	l.refused = func() { refused++ }

	accept := func(from ...string) (got []string, open []net.Conn) {
		l.Listener = (*arrivals)(&from)
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			got, open = append(got, c.RemoteAddr().(*net.TCPAddr).IP.String()), append(open, c)
		}
		return got, open
	}

	got, open := accept(client, "2001:db8::2", client, other, "127.0.0.1", "127.0.0.1", "127.0.0.1", "::1")
	if want := []string{
		client, "2001:db8::2", other, "127.0.0.1", "127.0.0.1", "127.0.0.1", "::1",
	}; !slices.Equal(got, want) || refused != 1 {
		t.Errorf("accepted %q, want %q", got, want)
	}

	_, _ = open[0].Close(), open[0].Close() // net/http may close a connection twice
	if got, _ := accept(client, client); len(got) != 1 || l.number() != 7 {
		t.Errorf("%d accepted after one was closed, %v open", len(got), l.number())
	}
	if got, _ := accept(slices.Repeat([]string{"127.0.0.1"}, 10)...); len(got) != 9 {
		t.Errorf("%d more accepted, want 9 within the limit of 16", len(got))
	}
}
