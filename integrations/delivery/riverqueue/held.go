package riverqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/riverqueue/river/riverdriver"
)

// heldJobs is the SQL condition of deliveries that wait for their target, with the
// queue and the time as arguments 1 and 2. Priority is there for River's index.
const heldJobs = "queue = %[1]s AND state IN ('available','scheduled') AND priority = 1" +
	" AND scheduled_at > %[2]s AND metadata->>'held' IS NOT NULL"

// releaseHeld makes deliveries due that were held for a target which is being tried
// again, by whatever process: after a circuit closed, or at the start after a stop.
func (c *core) releaseHeld(ctx context.Context, ln *lane) error {
	where := fmt.Sprintf(heldJobs, c.arg(1), c.arg(2))
	// In pieces, so that a backlog doesn't keep other writers of SQLite waiting.
	const batch = 500
	for ctx.Err() == nil {
		if need, _ := ln.circuit.needs(c.Now()); need != needNothing {
			return nil
		}
		now := c.at(time.Now())
		n, _, err := c.count(ctx, where, string(ln.target), now)
		if err != nil || n == 0 {
			return err
		}
		err = c.exec.Exec(ctx, fmt.Sprintf("UPDATE river_job SET state = 'available', scheduled_at = %s"+
			" WHERE id IN (SELECT id FROM river_job WHERE %s ORDER BY id LIMIT %d)", c.arg(2), where, batch),
			string(ln.target), now)
		if err != nil {
			return fmt.Errorf("releasing held deliveries: %w", err)
		}
	}
	return nil
}

// probe brings the oldest waiting delivery of a target forward if its circuit is to be
// probed and nothing is due by itself.
func (c *core) probe(ctx context.Context, ln *lane) error {
	switch need, since := ln.circuit.needs(c.Now()); need {
	case needNothing, needPatience:
		return nil
	case needNews:
		return c.learn(ctx, ln, since)
	case needProbe:
	}
	now := time.Now()
	pending, _, err := c.count(ctx, fmt.Sprintf("queue = %s AND state = 'available' AND scheduled_at <= %s",
		c.arg(1), c.arg(2)), string(ln.target), c.at(now))
	if err != nil || pending > 0 {
		return err
	}
	return c.inTx(ctx, func(tx riverdriver.ExecutorTx) error {
		rows, err := tx.JobList(ctx, &riverdriver.JobListParams{
			Max:           1,
			NamedArgs:     map[string]any{"target": string(ln.target)},
			OrderByClause: "id",
			WhereClause:   "queue = @target AND state IN ('available','scheduled','retryable')",
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		row := rows[0]
		m, err := metaOf(row)
		if err != nil {
			return err
		}
		if m.Early == nil || m.Early.Before(now) {
			m.Early = &row.ScheduledAt
		}
		note, err := json.Marshal(map[string]any{metaEarly: m.Early})
		if err != nil {
			return fmt.Errorf("noting a probe: %w", err)
		}
		if _, err := tx.JobRetry(ctx, &riverdriver.JobRetryParams{ID: row.ID}); err != nil {
			return fmt.Errorf("bringing a delivery forward: %w", err)
		}
		_, err = tx.JobUpdate(ctx, &riverdriver.JobUpdateParams{ID: row.ID, MetadataDoMerge: true, Metadata: note})
		return err
	})
}

// learn ends a pause early if another process has reached the target meanwhile.
func (c *core) learn(ctx context.Context, ln *lane, since time.Time) error {
	n, _, err := c.count(ctx, fmt.Sprintf("queue = %s AND state = 'completed' AND finalized_at > %s",
		c.arg(1), c.arg(2)), string(ln.target), c.at(since))
	if n > 0 {
		ln.circuit.probeNow(c.Now())
	}
	return err
}
