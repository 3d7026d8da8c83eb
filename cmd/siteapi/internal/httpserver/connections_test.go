package httpserver

import (
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// arrivals is a listener that accepts connections from these addresses.
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
	addr   net.Addr
	closed bool
}

func (a *arrival) RemoteAddr() net.Addr { return a.addr }
func (a *arrival) Close() error         { a.closed = true; return nil }

// One client, an address or a /64 network, may have an eighth of all connections. A
// further connection replaces the idle one among them.
func TestConnectionsOfOneClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const client, other = "2001:db8::1", "2001:db8:1::1"
		l, server, refused := newConnections(16, nil), &http.Server{}, 0
		l.refused = func() { refused++ }

		got, open := []string{}, []*arrival{}
		accept := func(from ...string) {
			l.limit((*arrivals)(&from), server)
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				got, open = append(got, c.RemoteAddr().(*net.TCPAddr).IP.String()), append(open, c.(*arrival))
			}
		}

		accept(client, "2001:db8::2", client, other, "127.0.0.1", "127.0.0.1", "127.0.0.1", "::1")
		if want := []string{
			client, "2001:db8::2", other, "127.0.0.1", "127.0.0.1", "127.0.0.1", "::1",
		}; !slices.Equal(got, want) {
			t.Errorf("accepted %q, want %q", got, want)
		}

		server.ConnState(open[0], http.StateActive)
		time.Sleep(time.Second)
		accept(client, client) // the second finds one busy and one that is new

		for i, c := range open {
			if c.closed != (i == 1) {
				t.Errorf("connection %d: closed is %t", i, c.closed)
			}
		}

		server.ConnState(open[0], http.StateClosed)
		accept(client)
		if len(open) != 9 || refused != 2 || l.number() != 7 {
			t.Errorf("%d accepted, %d refused, %v open", len(open), refused, l.number())
		}
	})
}
