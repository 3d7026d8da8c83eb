package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// crowded is a server with a few places. Requests to /hold wait until let is closed.
type crowded struct {
	*places
	t        *testing.T
	address  string
	refusals atomic.Int64
	let      chan struct{}
}

func newCrowded(t *testing.T, most int) *crowded {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &crowded{t: t, address: inner.Addr().String(), let: make(chan struct{})}
	c.places = newPlaces(inner, most, nil, func() { c.refusals.Add(1) })
	server := &http.Server{ConnState: c.state, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			<-c.let
		}
	})}
	go func() { _ = server.Serve(c.places) }()
	t.Cleanup(func() { _ = server.Close() })
	return c
}

// dial opens a connection and sends something on it.
func (c *crowded) dial(text string) net.Conn {
	c.t.Helper()
	conn, err := net.Dial("tcp", c.address)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// answer reads one answer with its body, or returns an error.
func answer(conn net.Conn) (*http.Response, string, error) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp, string(body), err
}

const (
	hold = "POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
	get  = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
)

func TestPlacesAllBusy(t *testing.T) {
	t.Parallel()
	c := newCrowded(t, 2)
	busy := []net.Conn{c.dial(hold), c.dial(hold)}
	eventually(t, "both are busy", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := 0
		for p := range c.taken {
			if p.waiting.Load() == 0 {
				n++
			}
		}
		return n == 2
	})
	time.Sleep(placePatience) // being busy is not waiting
	for range 5 {
		began := time.Now()
		resp, body, err := answer(c.dial(hold + strings.Repeat("x", 30_000)))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("refused after %v", took)
		}
		var problem struct {
			Status  int
			Code    string
			Success *bool
		}
		if err := json.Unmarshal([]byte(body), &problem); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || !resp.Close || problem.Status != 503 ||
			problem.Code != "UPSTREAM_UNAVAILABLE" || problem.Success == nil || *problem.Success {
			t.Errorf("refused with %d %v %s", resp.StatusCode, resp.Header, body)
		}
	}
	if c.refusals.Load() != 5 {
		t.Errorf("%d refusals were counted, want 5", c.refusals.Load())
	}
	close(c.let)
	for _, conn := range busy {
		if resp, _, err := answer(conn); err != nil || resp.StatusCode != 200 {
			t.Errorf("the ones with a place got %v, %v", resp, err)
		}
	}
}

// Who waits longest for a request gives way: connections that are kept open, and those
// that send a header drop by drop.
func TestPlacesGiveWay(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"kept open": get, "half a header": "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", "silent": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowded(t, 2)
			oldest := c.dial(first)
			time.Sleep(20 * time.Millisecond)
			older := c.dial(first)
			for _, conn := range []net.Conn{oldest, older} {
				if first == get {
					if _, _, err := answer(conn); err != nil {
						t.Fatal(err)
					}
				}
			}
			if resp, _, err := answer(c.dial(get)); err != nil || resp.StatusCode != 503 {
				t.Errorf("before their time is up a newcomer got %v, %v", resp, err)
			}
			time.Sleep(placePatience + 50*time.Millisecond)
			if resp, _, err := answer(c.dial(get)); err != nil || resp.StatusCode != 200 {
				t.Errorf("a newcomer got %v, %v", resp, err)
			}
			if _, err := oldest.Read(make([]byte, 1)); err != io.EOF && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the one that waited longest reads %v, want the end", err)
			}
			_ = older.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := older.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "timeout") {
				t.Errorf("the other one reads %v, want nothing", err)
			}
		})
	}
}

func TestPlacesAreGivenBack(t *testing.T) {
	t.Parallel()
	c := newCrowded(t, 3)
	for range 50 {
		conn := c.dial(get)
		if resp, _, err := answer(conn); err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		_ = conn.Close()
		eventually(t, "the place is free", func() bool { return c.number() == 0 })
	}
}

// One address can't take all places, unless it speaks for many.
func TestPlacesAreShared(t *testing.T) {
	t.Parallel()
	c := newCrowded(t, 32)
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close() })
	take := func(client netip.Addr) bool {
		conn, err := net.Dial("tcp", peer.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		p := &seat{conn: newConn(conn.(*net.TCPConn)), of: c.places, client: client}
		ok := c.admit(p)
		p.waiting.Store(0) // busy
		return ok
	}
	greedy, other := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")
	taken := 0
	for range 40 {
		if take(greedy) {
			taken++
		}
	}
	if taken != 16 {
		t.Errorf("one address got %d of 32 places, want half", taken)
	}
	if !take(other) || !take(netip.Addr{}) {
		t.Error("others find no place although there are some")
	}
}

func TestPlacesClients(t *testing.T) {
	t.Parallel()
	l := newPlaces(nil, 1, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, nil)
	if got := l.client(tcpFrom(t)); got.IsValid() {
		t.Errorf("this machine counts as %v", got)
	}
}

// tcpFrom returns a connection from this machine.
func tcpFrom(t *testing.T) *net.TCPConn {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}
