package riverqueue

import (
	"sync"
	"time"
)

// circuit keeps a process from hammering a target that is down, refuses the
// credentials or has asked for a pause. While it is open nothing is tried; once its
// time is up one try at a time goes through, and the first that reaches the target
// closes it. Libraries of this kind know one fixed pause; here the target has a say.
type circuit struct {
	failuresMax   int           // failures in a row that open it
	first, max    time.Duration // least and greatest time between probes
	refused       time.Duration // time between probes while credentials are refused
	mu            sync.Mutex
	open          bool
	failures      int           // in a row
	pause         time.Duration // current time between probes
	since, until  time.Time     // of being open; until: when the next probe may go
	last          time.Time     // of the latest bad news
	reason        string        // redacted
	probing       bool          // a probe is under way
	probeDeadline time.Time     // after which a probe counts as lost
}

// pass is the right to try.
type pass int

const (
	passNone   pass = iota
	passNormal      // the circuit was closed
	passProbe       // the one try of an open circuit whose time is up
	passForced      // by an operator's wish, whatever the circuit says
)

// verdict is what a try says about the target.
type verdict int

const (
	verdictNone    verdict = iota // nothing: it was stopped, or never got that far
	verdictReached                // the target is up and answered
	verdictFailed                 // no proper answer
	verdictRefused                // the credentials were refused
	verdictAsked                  // the target asked for a pause
)

// shift is how a verdict changed the circuit.
type shift int

const (
	shiftNone shift = iota
	shiftOpened
	shiftClosed
)

// wait returns how long and why tries must wait, or false where they need not.
func (c *circuit) wait(now time.Time) (time.Duration, string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || (!now.Before(c.until) && !c.probeUnderWay(now)) {
		return 0, "", false
	}
	return max(c.until.Sub(now), 0), c.reason, true
}

// enter asks for the right to try. patience is how long a probe may take before
// another may go in its place.
func (c *circuit) enter(now time.Time, forced bool, patience time.Duration) pass {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.open:
		return passNormal
	case forced:
		return passForced
	case now.Before(c.until), c.probeUnderWay(now):
		return passNone
	}
	c.probing, c.probeDeadline = true, now.Add(patience)
	return passProbe
}

// leave gives the right back with what was learned. asked is the pause of verdictAsked.
func (c *circuit) leave(now time.Time, p pass, v verdict, asked time.Duration, reason string) shift {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p == passProbe {
		c.probing = false
	}
	if v != verdictReached {
		c.last = now
	}
	switch v {
	case verdictReached:
		c.failures = 0
		if !c.open {
			return shiftNone
		}
		c.open, c.pause = false, 0
		return shiftClosed
	case verdictRefused:
		return c.openFor(now, c.refused, reason)
	case verdictAsked:
		return c.openFor(now, asked, reason)
	case verdictFailed:
		c.failures++
		switch {
		case c.open && p == passProbe:
			c.pause = min(max(2*c.pause, c.first), c.max)
			return c.openFor(now, c.pause, reason)
		case !c.open && c.failures >= c.failuresMax:
			c.pause = c.first
			return c.openFor(now, c.pause, reason)
		}
	case verdictNone:
		// A probe that taught nothing makes room for another, only not at once.
		if c.open && p == passProbe {
			c.until = now.Add(max(c.pause, c.first))
		}
	}
	return shiftNone
}

// openFor opens the circuit or keeps it open. It never shortens a pause.
func (c *circuit) openFor(now time.Time, d time.Duration, reason string) shift {
	fresh := !c.open
	if fresh {
		c.open, c.since, c.until = true, now, now
	}
	if until := now.Add(d); until.After(c.until) {
		c.until, c.reason = until, reason
	}
	if fresh {
		return shiftOpened
	}
	return shiftNone
}

// need is what could help a circuit on.
type need int

const (
	needNothing  need = iota // it is closed
	needPatience             // it is open
	needNews                 // it is open, and might learn that others reach the target
	needProbe                // its time is up and nothing is under way
)

// needs returns what could help the circuit on, and since when news would be news.
func (c *circuit) needs(now time.Time) (need, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.open:
		return needNothing, time.Time{}
	case !now.Before(c.until) && !c.probeUnderWay(now):
		return needProbe, c.last
	case now.Sub(c.last) >= 6*c.first:
		// Not sooner: what others reach may still be out of our reach.
		return needNews, c.last
	}
	return needPatience, c.last
}

// probeNow lets the next try through at once.
func (c *circuit) probeNow(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open && c.until.After(now) {
		c.until = now
	}
}

// openedFor returns how long the circuit was open when it closed.
func (c *circuit) openedFor(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.since)
}

// remaining returns how long it is open still.
func (c *circuit) remaining(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until.Sub(now)
}

func (c *circuit) probeUnderWay(now time.Time) bool {
	return c.probing && now.Before(c.probeDeadline)
}
