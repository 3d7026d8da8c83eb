package main

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// placeShare is the part of all places that one address may take once half are taken.
	placeShare = 8
	// placePatience is how long a connection may wait for its next request before it has
	// to give its place up to a newcomer.
	placePatience = 500 * time.Millisecond
)

// places is a listener with a limited number of connections. While all places are
// taken a newcomer gets that of the connection that has waited longest for a request;
// where all are busy it is refused with 503 at once.
//
// Once half of them are taken, no address holds more than a share, except for trusted
// proxies and this machine's own: they speak for many.
type places struct {
	net.Listener
	most      int
	proxies   []netip.Prefix
	refused   func()
	began     time.Time
	patrol    *patrol
	farewells chan struct{} // bounds the connections that are being refused

	mu       sync.Mutex
	taken    map[*seat]struct{}
	byClient map[netip.Addr]int
}

// stream is a TCP connection, or what stands for one.
type stream interface {
	net.Conn
	io.ReaderFrom
	CloseWrite() error
}

// seat is the place of one connection.
type seat struct {
	*conn
	of     *places
	client netip.Addr // counted as one; invalid: not counted
	// waiting is since when the connection waits for a request, after the beginning of the
	// listener; 0: it doesn't, or it has lost its place.
	waiting atomic.Int64
	begun   atomic.Bool // its first request has been read
	leave   sync.Once
}

// newPlaces bounds a listener to a number of connections. refused hears of each that
// found no place.
func newPlaces(l net.Listener, most int, proxies []netip.Prefix, refused func()) *places {
	return &places{
		Listener: l, most: most, proxies: proxies, refused: refused, began: time.Now().Add(-1),
		patrol: newPatrol(), farewells: make(chan struct{}, 64), taken: map[*seat]struct{}{}, byClient: map[netip.Addr]int{},
	}
}

// Accept waits for a connection that finds a place.
func (l *places) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		s, ok := accepted.(stream)
		if !ok {
			return accepted, nil // of no kind that a listener of ours gives
		}
		p := &seat{conn: newConn(s), of: l, client: l.client(s)}
		if l.admit(p) {
			l.patrol.watch(p.conn)
			return p, nil
		}
		l.refused()
		l.refuse(s)
	}
}

// client is what a connection counts as.
func (l *places) client(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	addr := tcp.AddrPort().Addr().Unmap()
	if addr.IsLoopback() || slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return netip.Addr{}
	}
	if addr.Is6() {
		if prefix, err := addr.Prefix(64); err == nil {
			return prefix.Addr()
		}
	}
	return addr
}

// admit gives a connection a place, if need be that of another.
func (l *places) admit(p *seat) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	greedy := p.client.IsValid() && 2*len(l.taken) >= l.most && l.byClient[p.client] >= max(1, l.most/placeShare)
	if greedy || len(l.taken) >= l.most {
		longest := l.longest(func(o *seat) bool { return !greedy || o.client == p.client })
		if longest == nil || !longest.evict() {
			return false
		}
		l.free(longest)
	}
	p.waiting.Store(int64(time.Since(l.began)))
	l.taken[p] = struct{}{}
	if p.client.IsValid() {
		l.byClient[p.client]++
	}
	return true
}

// longest returns the connection that has waited longest, of those that are asked
// about, if it has waited long enough.
func (l *places) longest(asked func(*seat) bool) (found *seat) {
	least := int64(time.Since(l.began) - placePatience)
	for p := range l.taken {
		if since := p.waiting.Load(); since > 0 && since <= least && asked(p) {
			found, least = p, since
		}
	}
	return found
}

// evict closes a connection unless a request has just begun on it.
func (p *seat) evict() bool {
	since := p.waiting.Load()
	if since == 0 || !p.waiting.CompareAndSwap(since, 0) {
		return false
	}
	_ = p.stream.Close() // whoever reads from it finds out
	return true
}

// free gives a place up. The lock is held.
func (l *places) free(p *seat) {
	if _, ok := l.taken[p]; !ok {
		return
	}
	delete(l.taken, p)
	if !p.client.IsValid() {
		return
	}
	if l.byClient[p.client]--; l.byClient[p.client] == 0 {
		delete(l.byClient, p.client)
	}
}

// Close closes the connection and gives its place up.
func (p *seat) Close() error {
	p.of.patrol.forget(p.conn)
	err := p.conn.Close()
	p.leave.Do(func() {
		p.of.mu.Lock()
		defer p.of.mu.Unlock()
		p.of.free(p)
	})
	return err
}

// number is how many places are taken.
func (l *places) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.taken)
}

// fresh is how many connections have been accepted whose first request was not read yet.
func (l *places) fresh() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.taken {
		if !p.begun.Load() {
			n++
		}
	}
	return n
}

// state is the server's word on what a connection is doing.
func (l *places) state(c net.Conn, s http.ConnState) {
	p, ok := c.(*seat)
	if !ok {
		return
	}
	switch s {
	case http.StateIdle:
		p.waiting.Store(int64(time.Since(l.began)))
	case http.StateActive:
		p.waiting.Store(0)
		p.begun.Store(true)
	case http.StateNew, http.StateHijacked, http.StateClosed:
	}
}

// busyAnswer is what a connection without a place is told. Nobody has read its request,
// so the problem bears no request id.
const busyAnswer = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\n" +
	"Retry-After: 1\r\nConnection: close\r\nContent-Length: 161\r\n\r\n" +
	`{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"The service is busy. Please try again.",` +
	`"code":"UPSTREAM_UNAVAILABLE","success":false}`

// farewellTime is how long a refused connection is kept so that its client can read why.
const farewellTime = 500 * time.Millisecond

// refuse tells a client that there is no place. The connection is closed in a moment: at
// once would take the answer away from a client that is still sending.
func (l *places) refuse(c stream) {
	select {
	case l.farewells <- struct{}{}:
	default: // too many to be polite to all
		_ = c.Close()
		return
	}
	go func() {
		defer func() { <-l.farewells }()
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(farewellTime))
		if _, err := c.Write([]byte(busyAnswer)); err != nil {
			return
		}
		_ = c.CloseWrite()
		var rest [512]byte
		for range 128 { // 64 KiB
			if _, err := c.Read(rest[:]); err != nil {
				return
			}
		}
	}()
}
