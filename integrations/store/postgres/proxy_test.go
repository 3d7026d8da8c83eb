package postgres_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy stands between a store and its server and can cut a connection off at the
// worst moment.
type proxy struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	marker []byte
	cuts   int // how many connections are still to be cut
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

// cutAfter makes the proxy cut off the next connections over which a client sends the
// marker: what it sent goes through, the answer does not.
func (p *proxy) cutAfter(marker string, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marker, p.cuts = []byte(marker), times
}

// left returns how many of those cuts have not happened.
func (p *proxy) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
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
		if p.cut(buffer[:n]) {
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

func (p *proxy) cut(sent []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cuts == 0 || !bytes.Contains(sent, p.marker) {
		return false
	}
	p.cuts--
	return true
}
