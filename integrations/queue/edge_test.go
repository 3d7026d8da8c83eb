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
)

// cdn is a receiver that can be down.
type cdn struct {
	mu    sync.Mutex
	down  bool
	tried int
	calls []time.Time // times of successful calls
	keys  string      // keys of the last successful call
}

func (c *cdn) notify(_ context.Context, keys []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried++
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
		o.Receivers = append(o.Receivers, queue.Receiver{Name: name, Notify: c.notify, Every: every})
	}
	return o
}

// behind reports whether a receiver has not yet been notified of all changes twice.
func (s *subject) behind(t *testing.T, name string) bool {
	t.Helper()
	found, err := s.Backlogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(found, func(b queue.Backlog) bool { return b.Receiver == name && b.Oldest > 0 })
}

// However many processes run, a receiver is notified once after the cache is invalidated
// and once more for content fetched in between. A receiver that is down does not delay
// others and is notified later.
func TestChangeIsNotifiedTwice(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db database) {
		up, down := &cdn{}, &cdn{down: true}
		o := notifying(map[string]*cdn{"edge_up": up, "edge_down": down}, 2*time.Second)
		q, other := db.open(t, o), db.open(t, o)
		q.start(t)
		other.start(t)

		invalidated := time.Now().Add(400 * time.Millisecond)
		q.ContentChanging(t.Context())()
		eventually(t, "the receiver is up to date", func() bool { return !q.behind(t, "edge_up") })
		if _, calls := up.count(); len(calls) != 2 || up.keys != "a b" || calls[0].Before(invalidated) ||
			calls[1].Sub(calls[0]) < 1500*time.Millisecond {
			t.Errorf("notified of %q at %v, the change was at %v", up.keys, calls, invalidated)
		}

		if _, calls := down.count(); len(calls) > 0 || !q.behind(t, "edge_down") {
			t.Error("the receiver that is down was notified")
		}
		eventually(t, "the receiver that is down is called again", func() bool { tried, _ := down.count(); return tried > 1 })
		down.setDown(false)
		eventually(t, "the other receiver is up to date", func() bool { return !q.behind(t, "edge_down") })
	})
}

// A call for one change does not cover a later change whose cache entries are not yet
// invalidated. The later change has two calls of its own.
func TestOverlappingChanges(t *testing.T) {
	t.Parallel()
	c := &cdn{}
	q := onSQLite(t).open(t, notifying(map[string]*cdn{"edge": c}, time.Millisecond))
	q.start(t)
	q.ContentChanging(t.Context())()
	eventually(t, "the queue is running", func() bool { return !q.behind(t, "edge") })

	// River fetches the job of the first change a second later.
	q.ContentChanging(t.Context())()
	time.Sleep(800 * time.Millisecond)
	changed := q.ContentChanging(t.Context())
	time.Sleep(450 * time.Millisecond)
	changed()
	invalidated := time.Now()

	eventually(t, "the receiver is up to date", func() bool { return !q.behind(t, "edge") })
	_, calls := c.count()
	calls = slices.DeleteFunc(calls, func(at time.Time) bool { return at.Before(invalidated) })
	if len(calls) < 2 || calls[0].Sub(invalidated) > 1200*time.Millisecond {
		t.Errorf("the second change was at %v, the calls after it at %v", invalidated, calls)
	}
}

// A queue that starts late still calls each receiver twice.
func TestLateQueue(t *testing.T) {
	t.Parallel()
	receivers := map[string]*cdn{}
	for _, name := range ids(8) {
		receivers[name] = &cdn{}
	}
	q := onSQLite(t).open(t, notifying(receivers, 2*time.Second))
	q.ContentChanging(t.Context())()
	time.Sleep(2100 * time.Millisecond)
	q.start(t)
	for name, c := range receivers {
		eventually(t, "the receiver is up to date", func() bool { return !q.behind(t, name) })
		if _, calls := c.count(); len(calls) != 2 || calls[1].Sub(calls[0]) < 1500*time.Millisecond {
			t.Errorf("%s is called at %v", name, calls)
		}
	}
}

// Without the database, a process notifies by itself, twice for the last of several
// changes.
func TestChangeWithoutDatabase(t *testing.T) {
	t.Parallel()
	c := &cdn{down: true}
	q, err := onSQLite(t)(notifying(map[string]*cdn{"edge": c}, 2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := q.close(); err != nil {
		t.Fatal(err)
	}

	for range 9 {
		q.ContentChanging(t.Context())()
	}
	eventually(t, "it is tried", func() bool { tried, _ := c.count(); return tried > 0 })
	c.setDown(false)
	eventually(t, "it is notified twice", func() bool { _, calls := c.count(); return len(calls) == 2 })
	q.stop(t, time.Minute)
	if _, calls := c.count(); len(calls) != 2 {
		t.Errorf("it is notified %d times", len(calls))
	}
}
