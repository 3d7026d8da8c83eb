package riverqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river/riverdriver"
)

// keepUp does what River leaves to its leader, or does not do at all, until ctx ends.
// All of it may be done by several processes at once.
func (c *core) keepUp(ctx context.Context) {
	tick := time.NewTicker(c.Timing.Tick)
	defer tick.Stop()
	c.pokeUpkeep() // at once after a start
	var upkeep, overdue, complained time.Time
	for {
		due := false
		select {
		case <-ctx.Done():
			return
		case <-c.poke:
			due = true
		case <-tick.C:
		}
		now := time.Now()
		if due || now.Sub(upkeep) >= c.Timing.Upkeep {
			upkeep = now
			c.report(ctx, "freeing stranded deliveries", c.rescue(ctx, false))
			c.report(ctx, "setting times right", c.setRight(ctx))
			c.report(ctx, "making deliveries available", c.promote(ctx))
			for _, ln := range c.lanes {
				c.report(ctx, "releasing held deliveries", c.releaseHeld(ctx, ln))
			}
		}
		for _, ln := range c.lanes {
			c.report(ctx, "probing a target", c.probe(ctx, ln))
		}
		if now.Sub(overdue) >= c.Timing.OverdueEvery {
			overdue = now
			n, oldest, err := c.overdue(ctx)
			c.report(ctx, "looking for overdue deliveries", err)
			// The observer hears of it every time, the log as often as one more lead may have aged.
			if n > 0 {
				c.Overdue(n, oldest)
			}
			if n > 0 && now.Sub(complained) >= c.Timing.OverdueAfter {
				complained = now
				c.Log.Error().Int64("deliveries", n).Time("oldest", oldest).
					Msg("deliveries are overdue")
			}
		}
	}
}

// pokeUpkeep has the upkeep done now.
func (c *core) pokeUpkeep() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

func (c *core) report(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil {
		c.Log.Warn().Err(err).Msg(doing)
	}
}

// promote makes due deliveries available. River's leader does the same, where there is one.
func (c *core) promote(ctx context.Context) error {
	const batch = 500
	for {
		done, err := c.exec.JobSchedule(ctx, &riverdriver.JobScheduleParams{Max: batch})
		if err != nil {
			return fmt.Errorf("making due deliveries available: %w", err)
		}
		if len(done) < batch {
			return nil
		}
	}
}

// overdue counts deliveries under way that are too old, and says since when there is one.
func (c *core) overdue(ctx context.Context) (n int64, oldest time.Time, err error) {
	before := c.Now().Add(-c.Timing.OverdueAfter)
	return c.count(ctx, unfinished+" AND created_at < "+c.arg(1), c.at(before))
}
