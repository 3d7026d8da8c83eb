package postgres_test

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// proxy stands between a store and its server. Once cut is set it cuts off the next
// connection over which a COMMIT is sent: the COMMIT goes through, its answer does not.
type proxy struct {
	net.Listener
	cut atomic.Bool
}

func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c, server)
		}
	}()
	return p
}

func (p *proxy) serve(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
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
		lost := bytes.Contains(buffer[:n], []byte("commit")) && p.cut.CompareAndSwap(true, false)
		if lost {
			client.Close()
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		if lost {
			_, _ = server.Read(buffer) // the answer that is lost
			return
		}
	}
}
