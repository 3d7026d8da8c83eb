package riverqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// rescueBatch bounds how many stranded deliveries one transaction frees.
const rescueBatch = 500

// rescue makes the deliveries available again that nobody is trying any more, though
// the table says so. own says that those bearing this client's name are among them,
// which is so before a start.
//
// A process is dead if its lock file is there and nobody holds it; it lives if somebody
// does. With SQLite, where all processes share the folder, it is dead as well if it has
// no file. Of others, on other machines, only the age of their tries tells, by clocks
// that should agree within some seconds.
func (c *core) rescue(ctx context.Context, own bool) (err error) {
	dead := map[string]*clientLock{}
	if c.LockDir != "" {
		// Looked at before the table: a client that appears in between is alive.
		dead, err = deadLocks(c.LockDir, c.clientID)
		defer func() {
			for _, lock := range dead {
				err = errors.Join(err, lock.abandon())
			}
		}()
		if err != nil {
			return fmt.Errorf("looking for dead processes: %w", err)
		}
	}
	oldest := time.Now().Add(-c.Timing.RescueAfter)
	stranded := func(row *rivertype.JobRow) bool {
		old := row.AttemptedAt == nil || row.AttemptedAt.Before(oldest)
		if len(row.AttemptedBy) == 0 {
			return old
		}
		switch owner := row.AttemptedBy[len(row.AttemptedBy)-1]; {
		case owner == c.clientID:
			// River may have marked a try as ours and then lost the answer.
			return own || old && !c.grips.hold(row)
		case dead[owner] != nil:
			return true
		case c.LockDir != "" && hasLock(c.LockDir, owner):
			return false
		default:
			return c.sqlite || old
		}
	}
	freed, err := c.free(ctx, stranded)
	if freed > 0 {
		c.Log.Warn().Int("deliveries", freed).Msg("freed deliveries that a dead process was trying")
	}
	if err != nil {
		return fmt.Errorf("freeing stranded deliveries: %w", err)
	}
	for id, lock := range dead {
		delete(dead, id)
		if err := lock.release(); err != nil {
			return fmt.Errorf("clearing up after a dead process: %w", err)
		}
	}
	return nil
}

// free makes running jobs available again that a condition holds for, and returns their number.
func (c *core) free(ctx context.Context, stranded func(*rivertype.JobRow) bool) (freed int, err error) {
	var after int64
	for {
		// Reading is enough nearly always, and keeps the write lock of SQLite free.
		rows, err := runningJobs(ctx, c.exec, after)
		if err != nil {
			return freed, err
		}
		if after == 0 && len(rows) < rescueBatch {
			c.grips.prune(rows)
		}
		found := false
		for _, row := range rows {
			found = found || stranded(row)
		}
		if found {
			n, err := c.freeBatch(ctx, after, stranded)
			freed += n
			if err != nil {
				return freed, err
			}
		}
		if len(rows) < rescueBatch {
			return freed, nil
		}
		after = rows[len(rows)-1].ID
	}
}

func (c *core) freeBatch(ctx context.Context, after int64, stranded func(*rivertype.JobRow) bool) (freed int, err error) {
	err = c.inTx(ctx, func(tx riverdriver.ExecutorTx) error {
		freed = 0
		if !c.sqlite {
			// Two processes that free the same delivery could free it twice, the second
			// time when it is being tried again already.
			if _, err := tx.PGAdvisoryXactLock(ctx, lockOfRescue); err != nil {
				return fmt.Errorf("locking: %w", err)
			}
		}
		rows, err := runningJobs(ctx, tx, after)
		if err != nil {
			return err
		}
		params := &riverdriver.JobSetStateIfRunningManyParams{}
		now := time.Now().UTC()
		for _, row := range rows {
			if !stranded(row) {
				continue
			}
			note, err := json.Marshal(rivertype.AttemptError{
				At: now, Attempt: max(row.Attempt, 0), Error: "the process ended during this try",
			})
			if err != nil {
				return fmt.Errorf("noting an interrupted try: %w", err)
			}
			params.ID = append(params.ID, row.ID)
			params.Attempt = append(params.Attempt, nil)
			params.ErrData = append(params.ErrData, note)
			params.FinalizedAt = append(params.FinalizedAt, nil)
			params.MetadataDoMerge = append(params.MetadataDoMerge, false)
			params.MetadataUpdates = append(params.MetadataUpdates, nil)
			params.ScheduledAt = append(params.ScheduledAt, &now)
			params.State = append(params.State, rivertype.JobStateAvailable)
		}
		if freed = len(params.ID); freed == 0 {
			return nil
		}
		_, err = tx.JobSetStateIfRunningMany(ctx, params)
		return err
	})
	return freed, err
}

// runningJobs returns jobs being tried, by any process, with an id above after.
func runningJobs(ctx context.Context, exec riverdriver.Executor, after int64) ([]*rivertype.JobRow, error) {
	return exec.JobGetStuck(ctx, &riverdriver.JobGetStuckParams{
		AfterID: after, Max: rescueBatch, StuckHorizon: time.Now().Add(time.Hour),
	})
}
