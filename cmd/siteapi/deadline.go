package main

import (
	"os"
	"sync"
	"time"
)

// deadline is the time by which an operation on a connection has to be done. An HTTP
// server sets and clears it several times a request, nearly always in vain, and each
// time costs the runtime a timer. This one is only noted; a patrol that comes by every
// second makes the connection fail where it has passed. So it may be late by a second.
type deadline struct {
	apply func(time.Time) error // sets the connection's own deadline
	begun time.Time             // of the connection: whatever is before has passed already

	mu      sync.Mutex
	at      time.Time // zero: none
	passed  bool
	waiting bool // an operation is under way
	applied bool // the connection's own deadline is set
}

// set notes a deadline. One in the past ends an operation under way at once, as the
// server's own reader expects.
func (d *deadline) set(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	d.passed = !at.IsZero() && at.Before(d.begun)
	return d.enforce()
}

// check is called by the patrol.
func (d *deadline) check(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && d.at.Before(now) {
		d.passed = true
		_ = d.enforce() // of a connection that is closed by now
	}
}

// begin is called before an operation, which must not begin where it fails.
func (d *deadline) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed {
		return os.ErrDeadlineExceeded
	}
	d.waiting = true
	return nil
}

// end is called after an operation.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = false
}

// enforce brings the connection's own deadline in line. It is touched only where an
// operation has to be stopped, and after that.
func (d *deadline) enforce() error {
	switch {
	case d.passed && d.waiting && !d.applied:
		d.applied = true
		return d.apply(d.begun)
	case !d.passed && d.applied:
		d.applied = false
		return d.apply(time.Time{})
	}
	return nil
}
