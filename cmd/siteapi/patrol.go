package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// patrolInterval is how often connections are checked, which is by how much a deadline
// may be late.
const patrolInterval = time.Second

// patrol looks after the deadlines of connections.
type patrol struct {
	mu    sync.Mutex
	conns map[*conn]struct{}
}

func newPatrol() *patrol { return &patrol{conns: map[*conn]struct{}{}} }

// watch returns a connection whose deadlines cost next to nothing to set. They hold
// while the patrol walks.
func (p *patrol) watch(tcp *net.TCPConn) *conn {
	now := time.Now()
	c := &conn{
		TCPConn: tcp, patrol: p,
		reading: deadline{apply: tcp.SetReadDeadline, begun: now},
		writing: deadline{apply: tcp.SetWriteDeadline, begun: now},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
	return c
}

// walk checks the deadlines again and again until ctx ends.
func (p *patrol) walk(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			p.check(now)
		}
	}
}

// check makes every operation fail whose deadline has passed.
func (p *patrol) check(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.reading.check(now)
		c.writing.check(now)
	}
}

// conn is a connection under a patrol.
type conn struct {
	*net.TCPConn
	patrol           *patrol
	reading, writing deadline
}

// Read implements [net.Conn].
func (c *conn) Read(b []byte) (int, error) {
	if err := c.reading.begin(); err != nil {
		return 0, err
	}
	n, err := c.TCPConn.Read(b)
	c.reading.end()
	return n, err
}

// Write implements [net.Conn].
func (c *conn) Write(b []byte) (int, error) {
	if err := c.writing.begin(); err != nil {
		return 0, err
	}
	n, err := c.TCPConn.Write(b)
	c.writing.end()
	return n, err
}

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.reading.set(t), c.writing.set(t))
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error { return c.reading.set(t) }

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error { return c.writing.set(t) }

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.patrol.mu.Lock()
	delete(c.patrol.conns, c)
	c.patrol.mu.Unlock()
	return c.TCPConn.Close()
}
