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
	calls [][]string // keys of each successful call
}

func (c *cdn) tell(_ context.Context, keys []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried++
	if c.down {
		return errors.New("it is down")
	}
	c.calls = append(c.calls, keys)
	return nil
}

func (c *cdn) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

func (c *cdn) told() [][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// tells returns options of a queue that tells receivers and delivers nothing.
func tells(receivers map[string]*cdn) queue.Options {
	o := options(nil)
	o.ContentKeys = []string{"a", "b", "c"}
	for name, c := range receivers {
		o.Receivers = append(o.Receivers, queue.Receiver{Name: name, Tell: c.tell, Every: 2 * time.Second})
	}
	return o
}

func behind(t *testing.T, q *subject, name string) time.Duration {
	t.Helper()
	found, err := q.Backlogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found[slices.IndexFunc(found, func(b queue.Backlog) bool { return b.Receiver == name })].Oldest
}

// TestChangeIsToldTwice: at once, and again for what was fetched in between. A receiver that
// is down does not keep another from being told.
func TestChangeIsToldTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		up, down := &cdn{}, &cdn{down: true}
		q := db(t, tells(map[string]*cdn{"edge_up": up, "edge_down": down}))
		q.start(t)

		began := time.Now()
		for _, key := range []string{"a", "b"} { // changes that come together are told together
			go q.ContentChanged(t.Context(), []string{key})
		}
		eventually(t, "it is told", func() bool { return len(up.told()) > 0 })
		if first := up.told()[0]; !slices.Equal(first, []string{"a", "b"}) {
			t.Errorf("told %v", first)
		}
		eventually(t, "it is told again, and nothing waits", func() bool {
			return len(up.told()) >= 2 && behind(t, q, "edge_up") == 0
		})
		if took := time.Since(began); took < 2*time.Second {
			t.Errorf("the second call came after %v", took)
		}

		if len(down.told()) > 0 || behind(t, q, "edge_down") == 0 {
			t.Error("the other one was told")
		}
		down.set(false)
		eventually(t, "the other one is told, too", func() bool { return behind(t, q, "edge_down") == 0 })
		if last := down.told(); len(last) == 0 || !slices.Equal(slices.Compact(slices.Sorted(
			slices.Values(slices.Concat(last...)))), []string{"a", "b"}) {
			t.Errorf("told %v", last)
		}
	})
}

// TestManyChanges counts the calls in a burst.
func TestManyChanges(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		c := &cdn{}
		q := db(t, tells(map[string]*cdn{"edge": c}))
		q.start(t)

		began := time.Now()
		for i := range 50 {
			go q.ContentChanged(t.Context(), []string{string("abc"[i%3])})
			time.Sleep(100 * time.Millisecond)
		}
		last := time.Now()
		eventually(t, "all is told", func() bool { return time.Since(last) > time.Second && behind(t, q, "edge") == 0 })
		if most := int(time.Since(began)/(2*time.Second)) + 2; len(c.told()) > most {
			t.Errorf("%d calls in %v", len(c.told()), time.Since(began))
		}
	})
}

// TestWindowOfTwoProcesses has a burst of changes at two processes with one database.
func TestWindowOfTwoProcesses(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		c := &cdn{}
		processes := []*subject{
			db(t, tells(map[string]*cdn{"edge": c})),
			db(t, tells(map[string]*cdn{"edge": c})),
		}
		for _, q := range processes {
			q.start(t)
		}

		began := time.Now()
		for i := range 60 {
			go processes[i%2].ContentChanged(t.Context(), []string{string("abc"[i%3])})
			time.Sleep(100 * time.Millisecond)
		}
		last := time.Now()
		eventually(t, "all is told", func() bool {
			return time.Since(last) > time.Second && behind(t, processes[0], "edge") == 0
		})

		told, most := c.told(), int(time.Since(began)/(2*time.Second))+1
		t.Logf("%d calls in %v", len(told), time.Since(began))
		if len(told) > most {
			t.Errorf("%d calls in %v, want %d at most", len(told), time.Since(began), most)
		}
		if all := strings.Join(slices.Concat(told[1:]...), ""); !strings.Contains(all, "abc") {
			t.Errorf("told %v", told)
		}
	})
}

// TestChangeSurvivesRestart stops the process that noticed a change, before it could tell.
func TestChangeSurvivesRestart(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		c := &cdn{down: true}
		q := db(t, tells(map[string]*cdn{"edge": c}))
		q.start(t)
		q.ContentChanged(t.Context(), []string{"c"})
		q.stop(t, time.Minute)

		c.set(false)
		db(t, tells(map[string]*cdn{"edge": c})).start(t)
		eventually(t, "it is told", func() bool { return len(c.told()) > 0 })
		if got := c.told()[0]; !slices.Equal(got, []string{"c"}) {
			t.Errorf("told %v", got)
		}
	})
}

// TestTenMinutesOfFailure: what was published while the receiver was down is told in one
// call, soon after its return. How long it was down makes no difference to the retries.
func TestTenMinutesOfFailure(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		c := &cdn{down: true}
		q := db(t, tells(map[string]*cdn{"edge": c}))
		for i := range 10 {
			q.addChange("edge", []string{string("ab"[i%2])}, time.Now().Add(-time.Duration(i)*time.Minute))
		}
		q.start(t)
		eventually(t, "it is tried", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.tried > 1
		})

		back := time.Now()
		c.set(false)
		eventually(t, "it is told", func() bool { return len(c.told()) > 0 })
		took := time.Since(back)
		eventually(t, "nothing waits", func() bool { return behind(t, q, "edge") == 0 })

		t.Logf("it is told %v after its return", took)
		if told := slices.Concat(c.told()...); took > 20*time.Second || // 5 s if the machine is not busy
			!slices.Contains(told, "a") || !slices.Contains(told, "b") || len(c.told()) > 2 {
			t.Errorf("%v after its return it is told %v", took, c.told())
		}
	})
}

// TestHourOfFailure: everything, once, replaces what waits.
func TestHourOfFailure(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		c := &cdn{down: true}
		q := db(t, tells(map[string]*cdn{"edge": c}))
		for range 20 {
			q.addChange("edge", []string{"b"}, time.Now().Add(-61*time.Minute))
		}
		q.start(t)

		eventually(t, "the other jobs are dropped", func() bool { return q.changes("edge") == 1 })
		c.set(false)
		eventually(t, "it is told", func() bool { return behind(t, q, "edge") == 0 })
		if got := c.told(); len(got) != 1 || strings.Join(got[0], "") != "abc" {
			t.Errorf("told %v", got)
		}
	})
}
