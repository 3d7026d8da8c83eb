package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
)

// changes are the changes of a database that tells nobody of them, and whose answers take a
// moment. It stands in for SQLite and a command in another process, or PostgreSQL behind a
// pooler, so that time can be simulated.
type changes struct {
	store.Changes
	takes time.Duration

	mu    sync.Mutex
	rows  []store.LeadChange
	asked int
}

func (c *changes) add() (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(len(c.rows) + 1)
	id = fmt.Sprint("lead-", n)
	c.rows = append(c.rows, store.LeadChange{Seq: n, At: time.Now(), Lead: id, Kind: store.LeadChanged})
	return id
}

func (c *changes) LastChanges(context.Context, int) ([]store.LeadChange, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.rows), nil
}

func (c *changes) ChangesAfter(_ context.Context, seq int64, _ []int64, _ int) ([]store.LeadChange, error) {
	c.mu.Lock()
	c.asked++
	after := slices.Clone(c.rows[seq:])
	c.mu.Unlock()
	time.Sleep(c.takes)
	return after, nil
}

func (c *changes) timesAsked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func (c *changes) ListenForChanges(ctx context.Context, _ func()) { <-ctx.Done() }

// A change that nobody tells of is in an event within a second, at whatever moment it was
// made, if the database answers within 50 milliseconds. An idle page asks twice a second at
// most.
func TestWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &changes{takes: 50 * time.Millisecond}
		feed := &Feed{Changes: db, Log: zerolog.Nop()}
		follower, err := feed.Follow(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer follower.Close()
		if _, err := follower.Next(t.Context()); err != nil {
			t.Fatal(err)
		}

		var slowest time.Duration
		for i := range 200 {
			time.Sleep(3*time.Second + time.Duration(i)*7*time.Millisecond)
			made, id := time.Now(), db.add()
			event, err := follower.Next(t.Context())
			if err != nil || event.Restarted || len(event.Changes) != 1 || event.Changes[0].Lead != id {
				t.Fatalf("change %d: %+v %v", i, event, err)
			}
			slowest = max(slowest, time.Since(made))
		}
		if slowest > time.Second {
			t.Errorf("an event came %v after its change", slowest)
		}
		t.Logf("%v at most", slowest)

		before := db.timesAsked()
		time.Sleep(time.Minute)
		if n := db.timesAsked() - before; n > 120 {
			t.Errorf("an idle feed asked %d times in a minute", n)
		}
	})
}
