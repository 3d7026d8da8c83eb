package riverqueue

import (
	"context"
	"fmt"
	"time"
)

// clockSlack is how far a time may lie ahead before it is taken for that of a clock
// which was wrong.
const clockSlack = time.Minute

// setRight makes deliveries due that a clock put off which was ahead and has been put
// right: those created or last tried in what is still to come, and those that wait
// longer than anything makes a delivery wait. Without it they would not be tried until
// the clock is where it was. A try that began before the clock went ahead and failed
// after it is not among them unless it waits longer than that: nothing tells its time
// from one that the target asked for. It waits for a day at most.
//
// Times are compared with the database's clock, which set most of them.
func (c *core) setRight(ctx context.Context) error {
	t := c.Timing
	longest := max(t.BackoffMax*5/4, t.AskedMax, t.RefusedPause*5/4, t.CircuitMax) + t.Hold + clockSlack
	where := fmt.Sprintf("kind = %s AND state IN ('available','scheduled','retryable') AND scheduled_at > %s"+
		" AND (scheduled_at > %s OR coalesce(attempted_at, created_at) > %[2]s)", c.arg(1), c.fromNow(clockSlack), c.fromNow(longest))
	// Reading is enough nearly always, and keeps the write lock of SQLite free.
	n, _, err := c.count(ctx, where, kind)
	if err != nil || n == 0 {
		return err
	}
	if err := c.exec.Exec(ctx, "UPDATE river_job SET state = 'available', scheduled_at = "+c.fromNow(0)+" WHERE "+where, kind); err != nil {
		return fmt.Errorf("making deliveries due again: %w", err)
	}
	c.Log.Warn().Int64("deliveries", n).Msg("made deliveries due that waited for a time when the clock was ahead")
	return nil
}

// fromNow is a time by the database's clock as SQL.
func (c *core) fromNow(d time.Duration) string {
	seconds := int64(d / time.Second)
	if c.sqlite {
		return fmt.Sprintf("datetime('now', 'subsec', '+%d seconds')", seconds)
	}
	return fmt.Sprintf("(now() + interval '%d seconds')", seconds)
}
