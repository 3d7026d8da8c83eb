package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// patrol looks after the deadlines of connections.
type patrol struct {
	mu    sync.Mutex
	conns map[*conn]struct{}
}

func newPatrol() *patrol { return &patrol{conns: map[*conn]struct{}{}} }

// watch looks after a connection until it is forgotten.
func (p *patrol) watch(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
}

// forget leaves a connection alone, which is about to be closed.
func (p *patrol) forget(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// walk checks the deadlines until ctx ends. The interval is by how much one may be late.
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

// conn is a connection whose deadlines cost next to nothing to set. They hold while a
// patrol watches it.
type conn struct {
	stream
	reading, writing deadline
}

func newConn(s stream) *conn {
	now := time.Now()
	return &conn{
		stream:  s,
		reading: deadline{apply: s.SetReadDeadline, begun: now},
		writing: deadline{apply: s.SetWriteDeadline, begun: now},
	}
}

// Read implements [net.Conn].
func (c *conn) Read(b []byte) (int, error) {
	if err := c.reading.begin(); err != nil {
		return 0, err
	}
	n, err := c.stream.Read(b)
	c.reading.end()
	return n, err
}

// Write implements [net.Conn].
func (c *conn) Write(b []byte) (int, error) {
	if err := c.writing.begin(); err != nil {
		return 0, err
	}
	n, err := c.stream.Write(b)
	c.writing.end()
	return n, err
}

// ReadFrom implements [io.ReaderFrom], which a server looks for.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if err := c.writing.begin(); err != nil {
		return 0, err
	}
	n, err := c.stream.ReadFrom(r)
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
