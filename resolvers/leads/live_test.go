package leads

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"siteapi/integrations/store"
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

// Each change is sent in exactly one event within a second, regardless of when its
// transaction was committed, if the database responds within 50 milliseconds. A change
// from an outage of the database is in the first event after it.
func TestWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &changes{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events, err := follow(ctx, db, "")
		if err != nil || !(<-events).Restarted {
			t.Fatal(err)
		}
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
