package queue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/queue"
	"siteapi/integrations/store"
)

// cdn is a receiver that can be down.
type cdn struct {
	mu    sync.Mutex
	down  bool
	first func() // called during the first call
	tried int
	calls []time.Time // times of successful calls
	keys  string      // keys of the last successful call
}

func (c *cdn) notify(_ context.Context, keys []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tried++; c.tried == 1 && c.first != nil {
		c.first()
	}
	if c.down {
		return errors.New("it is down")
	}
	c.calls, c.keys = append(c.calls, time.Now()), strings.Join(keys, " ")
	return nil
}

func (c *cdn) setDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// count returns the number of tries and the times of successful calls.
func (c *cdn) count() (tried int, calls []time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tried, slices.Clone(c.calls)
}

// notifying returns the options of a queue that notifies receivers and delivers nothing.
func notifying(receivers map[string]*cdn, every time.Duration) setup {
	o := options(nil)
	o.ContentKeys = []string{"a", "b"}
	for name, c := range receivers {
		r := store.Receiver{Name: name, Calls: 2, Every: every}
		o.Receivers = append(o.Receivers, queue.Receiver{Receiver: r, Notify: c.notify})
	}
	return o
}

// behind reports whether a receiver has not yet been notified of all changes twice.
func (s *subject) behind(t *testing.T, name string) bool {
	t.Helper()
	found, err := s.Backlogs(t.Context())
	must(t, err)
	return slices.ContainsFunc(found, func(b queue.Backlog) bool { return b.Receiver == name && b.Oldest > 0 })
}

// change stores a content change.
func (s *subject) change(t *testing.T) {
	t.Helper()
	must(t, s.ContentChanged(t.Context()))
}

// However many processes run, a receiver is notified once after the cache is invalidated
// and once more for content fetched in between, also of a change during a notification. A
// receiver that is down does not delay others and is notified later.
func TestChangeIsNotifiedTwice(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db database) {
		up, down := &cdn{}, &cdn{down: true}
		o := notifying(map[string]*cdn{"edge_up": up, "edge_down": down}, 2*time.Second)
		q, other := db(t, o), db(t, o)
		q.start(t)
		other.start(t)

		up.first = func() {
			if err := q.ContentChanged(t.Context()); err != nil {
				t.Error(err)
			}
		}
		q.change(t)
		eventually(t, "the receiver is up to date", func() bool { return !q.behind(t, "edge_up") })
		_, calls := up.count()
		if len(calls) != 3 || up.keys != "a b" || calls[2].Sub(calls[1]) < 1500*time.Millisecond {
			t.Errorf("notified of %q at %v", up.keys, calls)
		}

		if _, calls := down.count(); len(calls) > 0 || !q.behind(t, "edge_down") {
			t.Error("the receiver that is down was notified")
		}
		eventually(t, "the receiver that is down is called again", func() bool { tried, _ := down.count(); return tried > 1 })
		down.setDown(false)
		eventually(t, "the other receiver is up to date", func() bool { return !q.behind(t, "edge_down") })
	})
}

// A receiver with a quiet time is called once, after the last of many changes, and at the
// latest after ten times that time. It is not behind while it may wait.
func TestQuietTime(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db database) {
		c := &cdn{}
		o := notifying(map[string]*cdn{"edge": c}, time.Second)
		o.Receivers[0].Calls, o.Receivers[0].Quiet = 1, 1500*time.Millisecond
		q := db(t, o)
		q.start(t)

		var last time.Time
		for range 4 {
			last = time.Now()
			q.change(t)
			if q.behind(t, "edge") {
				t.Error("it is behind while it waits")
			}
			time.Sleep(300 * time.Millisecond)
		}
		eventually(t, "it is called", func() bool { _, calls := c.count(); return len(calls) > 0 })
		if _, calls := c.count(); calls[0].Sub(last) < time.Second {
			t.Errorf("the last change was at %v, the call at %v", last, calls[0])
		}

		// Changes that never end do not put the call off for ever.
		before, began := 1, time.Now()
		for time.Since(began) < 40*time.Second {
			q.change(t)
			if _, calls := c.count(); len(calls) > before {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
		if waited := time.Since(began); waited < 12*time.Second || waited > 35*time.Second {
			t.Errorf("it was called after %v of changes", waited)
		}
	})
}

// A burst of changes causes few calls, and the last one is followed by two. A change that
// cannot be stored is an error.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	c := &cdn{}
	q := onSQLite(t)(t, notifying(map[string]*cdn{"edge": c}, 2*time.Second))
	q.start(t)
	var last time.Time
	for range 30 {
		last = time.Now()
		q.change(t)
	}

	eventually(t, "the receiver is up to date", func() bool { return !q.behind(t, "edge") })
	_, calls := c.count()
	after := slices.DeleteFunc(slices.Clone(calls), func(at time.Time) bool { return at.Before(last) })
	if len(calls) > 8 || len(after) < 2 || after[len(after)-1].Sub(last) < 2*time.Second {
		t.Errorf("the last change was at %v, the calls at %v", last, calls)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.ContentChanged(ended); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a change that is not stored: %v, want ErrUnavailable", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
