package leads

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"siteapi/integrations/store"
	"siteapi/schema"
)

// changes is a database with a short delay, so that time can be simulated.
type changes struct {
	mu    sync.Mutex
	rows  []store.LeadChange
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

func (c *changes) set(fails bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails = fails
}

// first returns the first event after a position, and the channel of later ones.
func first(t *testing.T, db *changes, position string) (*schema.LeadEvent, <-chan *schema.LeadEvent) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	events, err := follow(ctx, db, position)
	if err != nil {
		t.Fatal(err)
	}
	return <-events, events
}

// Each change is sent in exactly one event within a second, regardless of when its
// transaction was committed, if the database responds within 50 milliseconds. A change
// from an outage of the database is in the first event after it.
func TestWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &changes{}
		_, events := first(t, db, "")
		expect := func(id string, within time.Duration) {
			t.Helper()
			began, event := time.Now(), <-events
			if event.Restarted || len(event.Changes) != 1 || *event.Changes[0].ID != id || time.Since(began) > within {
				t.Fatalf("%s: %+v after %v", id, event, time.Since(began))
			}
		}

		for i := range 200 {
			time.Sleep(3*time.Second + time.Duration(i)*7*time.Millisecond)
			expect(db.add(time.Duration(i%11)*time.Second), time.Second)
		}

		db.set(true)
		id := db.add(0)
		time.Sleep(time.Minute)
		db.set(false)
		expect(id, time.Second)
	})
}

// A reconnecting page gets the events it missed, or reloads if its position is too old.
func TestPositions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &changes{}
		begun, _ := first(t, db, "")
		time.Sleep(time.Minute)
		db.add(9 * time.Second)
		if e, _ := first(t, db, begun.Position); e.Restarted || len(e.Changes) != 1 {
			t.Errorf("after a minute: %+v", e)
		}

		time.Sleep(resumable)
		future := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
		for _, old := range []string{begun.Position, future, "", "nonsense", "-1"} {
			if e, _ := first(t, db, old); !e.Restarted || len(e.Changes) > 0 {
				t.Errorf("after %q: %+v", old, e)
			}
		}
	})
}
