package live

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
)

// changes are the changes of a database whose answers take a moment, so that time can be
// simulated.
type changes struct {
	store.Changes
	mu    sync.Mutex
	rows  []store.LeadChange
	asked int
	fails bool
}

// add adds a change whose transaction was committed a while after it was recorded.
func (c *changes) add(late time.Duration) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(len(c.rows) + 1)
	id = fmt.Sprint("lead-", n)
	c.rows = append(c.rows, store.LeadChange{Seq: n, At: time.Now().Add(-late), Lead: id, Kind: store.LeadChanged})
	return id
}

func (c *changes) ChangesSince(
	_ context.Context, since time.Time, _ int,
) (list []store.LeadChange, now time.Time, err error) {
	defer time.Sleep(50 * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if c.fails {
		return nil, now, store.ErrUnavailable
	}
	for _, row := range c.rows {
		if !row.At.Before(since) {
			list = append(list, row)
		}
	}
	return list, time.Now(), nil
}

func (c *changes) set(fails bool) (asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails = fails
	return c.asked
}

// A change is in one event, within a second, at whatever moment it was made, and whenever its
// transaction was committed, if the database answers within 50 milliseconds. One that was
// made while the database was away is in the event after that.
func TestWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &changes{}
		feed := &Feed{Changes: db, Log: zerolog.Nop()}
		follower, err := feed.Follow(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer follower.Close()
		if e, err := follower.Next(t.Context()); err != nil || !e.Restarted {
			t.Fatalf("the first event is %+v, %v", e, err)
		}

		var slowest time.Duration
		for i := range 200 {
			time.Sleep(3*time.Second + time.Duration(i)*7*time.Millisecond)
			made, id := time.Now(), db.add(time.Duration(i%11)*time.Second)
			event, err := follower.Next(t.Context())
			if err != nil || event.Restarted || len(event.Changes) != 1 || event.Changes[0].Lead != id {
				t.Fatalf("change %d: %+v %v", i, event, err)
			}
			slowest = max(slowest, time.Since(made))
		}
		if slowest > time.Second {
			t.Errorf("an event came %v after its change", slowest)
		}

		before := db.set(true)
		id := db.add(0)
		time.Sleep(time.Minute)
		if n := db.set(false) - before; n > 120 {
			t.Errorf("the feed asked %d times in a minute", n)
		}
		if e, err := follower.Next(t.Context()); err != nil || len(e.Changes) != 1 || e.Changes[0].Lead != id {
			t.Errorf("after the outage: %+v, %v", e, err)
		}
	})
}

// A page that comes back gets what it missed, or loads anew if that is long ago.
func TestPositions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &changes{}
		feed := &Feed{Changes: db, Log: zerolog.Nop()}
		first := func(position string) Event {
			t.Helper()
			follower, err := feed.Follow(t.Context(), position)
			if err != nil {
				t.Fatal(err)
			}
			defer follower.Close()
			e, err := follower.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return e
		}

		position := first("").Position
		time.Sleep(time.Minute)
		db.add(9 * time.Second)
		if e := first(position); e.Restarted || len(e.Changes) != 1 {
			t.Errorf("after a minute: %+v", e)
		}
		time.Sleep(resumable)
		future := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
		for _, old := range []string{position, future, "", "nonsense", "-1"} {
			if e := first(old); !e.Restarted || len(e.Changes) > 0 {
				t.Errorf("after %q: %+v", old, e)
			}
		}
	})
}
