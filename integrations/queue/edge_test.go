package queue_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/queue"
)

// cdn is a receiver that can be down.
type cdn struct {
	mu    sync.Mutex
	down  bool
	tried int
	calls []time.Time // of each successful call
	keys  string      // of the last one
}

func (c *cdn) tell(_ context.Context, keys []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried++
	if c.down {
		return errors.New("it is down")
	}
	c.calls, c.keys = append(c.calls, time.Now()), strings.Join(keys, " ")
	return nil
}

func (c *cdn) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// count returns the number of tries, and of calls that succeeded.
func (c *cdn) count() (tried, told int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tried, len(c.calls)
}

// tells returns options of a queue that tells receivers and delivers nothing.
func tells(receivers map[string]*cdn) setup {
	o := options(nil)
	o.ContentKeys = []string{"a", "b"}
	for name, c := range receivers {
		o.Receivers = append(o.Receivers, queue.Receiver{Name: name, Tell: c.tell, Every: 2 * time.Second})
	}
	return o
}

// behind reports whether a receiver was not told of all changes, and told again.
func (s *subject) behind(t *testing.T, name string) bool {
	t.Helper()
	found, err := s.Backlogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range found {
		if b.Receiver == name && b.Oldest > 0 {
			return true
		}
	}
	return false
}

// A receiver is told as soon as the cache was invalidated, and again for what was fetched in
// between. One that is down does not keep another from being told, and is told later; the log
// has one line of that, and one when it is back.
func TestChangeIsToldTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		up, down := &cdn{}, &cdn{down: true}
		o, log := tells(map[string]*cdn{"edge_up": up, "edge_down": down}), &bytes.Buffer{}
		o.Log = zerolog.New(zerolog.SyncWriter(log))
		q := db.open(t, o)
		q.start(t)

		changed := q.ContentChanging(t.Context())
		time.Sleep(200 * time.Millisecond)
		if tried, _ := up.count(); tried > 0 {
			t.Error("it is told before the cache was invalidated")
		}
		changed()
		invalidated := time.Now()
		eventually(t, "it is told again, and nothing waits", func() bool {
			_, told := up.count()
			return told == 2 && !q.behind(t, "edge_up")
		})
		first, second := up.calls[0].Sub(invalidated), up.calls[1].Sub(up.calls[0])
		if t.Logf("told after %v, and %v later", first, second); second < 1500*time.Millisecond || up.keys != "a b" {
			t.Errorf("told of %q after %v, and again %v later", up.keys, first, second)
		}

		if _, told := down.count(); told > 0 || !q.behind(t, "edge_down") {
			t.Error("the other one was told")
		}
		eventually(t, "the other one is called again", func() bool { tried, _ := down.count(); return tried > 1 })
		down.set(false)
		eventually(t, "the other one is told, too", func() bool { return !q.behind(t, "edge_down") })

		q.stop(t, time.Minute)
		for _, line := range []string{"can't be told of changed content", "told of changed content again"} {
			if n := strings.Count(log.String(), line); n != 1 {
				t.Errorf("%q is logged %d times:\n%s", line, n, log)
			}
		}
	})
}

// Without the database a process calls by itself, twice of the last of several changes.
func TestChangeWithoutDatabase(t *testing.T) {
	t.Parallel()
	c := &cdn{down: true}
	q, err := onSQLite(t)(tells(map[string]*cdn{"edge": c}))
	if err != nil {
		t.Fatal(err)
	}
	if err := q.close(); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	for range 9 {
		q.ContentChanging(t.Context())()
	}
	eventually(t, "it is tried", func() bool { tried, _ := c.count(); return tried == 1 })
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it is told after %v", took)
	}
	c.set(false)
	eventually(t, "it is told twice", func() bool { _, told := c.count(); return told == 2 })
	q.stop(t, time.Minute)
	if _, told := c.count(); told != 2 {
		t.Errorf("it is told %d times", told)
	}
}
