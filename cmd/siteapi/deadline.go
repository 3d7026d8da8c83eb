package main

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// deadline is the time by which an operation on a connection has to be done. An HTTP
// server sets and clears it several times a request, nearly always in vain, and each
// time costs the runtime a timer. This one is only noted; a patrol that comes by every
// second makes the connection fail where it has passed, so it may be late by a second.
//
// What is done for each request is a write of one value and a look at another. Whoever
// does the opposite, the patrol, writes and looks in the opposite order, so that of two
// at the same moment at least one sees the other.
type deadline struct {
	apply func(time.Time) error // sets the connection's own deadline
	begun time.Time             // of the connection: whatever is before has passed already

	at      atomic.Int64 // Unix time in nanoseconds; 0: none
	waiting atomic.Bool  // an operation is under way
	passed  atomic.Bool  // operations fail

	mu      sync.Mutex // of those who change passed
	applied bool       // the connection's own deadline is set
}

// set notes a deadline. One in the past ends an operation under way at once, as the
// server's own reader expects.
func (d *deadline) set(t time.Time) error {
	var at int64
	if !t.IsZero() {
		at = t.UnixNano()
	}
	d.at.Store(at)
	if past := at != 0 && t.Before(d.begun); past || d.passed.Load() {
		return d.settle(at, past)
	}
	return nil
}

// check is called by the patrol.
func (d *deadline) check(now time.Time) {
	if at := d.at.Load(); at != 0 && at < now.UnixNano() {
		_ = d.settle(at, true) // of a connection that is closed by now
	}
}

// settle makes operations fail, or succeed again, unless another deadline than this has
// been set meanwhile. The connection's own deadline is touched only where an operation
// has to be stopped, and after that.
func (d *deadline) settle(at int64, passed bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.passed.Store(passed)
	if d.at.Load() != at {
		d.passed.Store(false)
		passed = false
	}
	switch {
	case passed && d.waiting.Load() && !d.applied:
		d.applied = true
		return d.apply(d.begun)
	case !passed && d.applied:
		d.applied = false
		return d.apply(time.Time{})
	}
	return nil
}

// begin is called before an operation, which must not begin where it fails.
func (d *deadline) begin() error {
	d.waiting.Store(true)
	if !d.passed.Load() {
		return nil
	}
	d.mu.Lock() // the patrol may be about to change its mind
	defer d.mu.Unlock()
	if !d.passed.Load() {
		return nil
	}
	d.waiting.Store(false)
	return os.ErrDeadlineExceeded
}

// end is called after an operation.
func (d *deadline) end() { d.waiting.Store(false) }
