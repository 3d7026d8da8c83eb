package postgres_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// proxy stands between a store and its server and can cut a connection off at the
// worst moment.
type proxy struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	marker []byte // nil: nothing is to be cut
}

func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// cutAfter makes the proxy cut off the next connection over which a client sends the
// marker: what it sent goes through, the answer does not.
func (p *proxy) cutAfter(marker string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marker = []byte(marker)
}

// hasCut reports whether that has happened.
func (p *proxy) hasCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.marker == nil
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if p.cuts(buffer[:n]) {
			client.Close()
			if _, err := server.Write(buffer[:n]); err == nil {
				_, _ = server.Read(buffer) // the answer nobody gets
			}
			return
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) cuts(sent []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.marker == nil || !bytes.Contains(sent, p.marker) {
		return false
	}
	p.marker = nil
	return true
}

// lock locks the tables of the store and returns what unlocks them.
func lock(t *testing.T, url string) (unlock func()) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), `BEGIN; LOCK TABLE submissions, sessions`); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
