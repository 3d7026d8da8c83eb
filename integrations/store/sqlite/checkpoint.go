package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// checkpointPause is how often the log is looked at while something is written.
	checkpointPause = 100 * time.Millisecond
	// bulkPages is how many pages may wait in the log before they are copied back.
	bulkPages = 2000
	// restartPages is the length of the log at which it is begun anew.
	restartPages = 4000
)

// checkpointer copies the log back into the database file on a connection of its own,
// beside the writer, and begins it anew before it grows long. A checkpoint inside the
// writer's commit is what makes single requests slow.
type checkpointer struct {
	pool *sql.DB
	gate *Gate
	log  *slog.Logger

	written chan struct{} // holds one signal that there was a commit
	trouble atomic.Bool   // whether one has failed since the last look
}

// note tells the checkpointer of a commit, or of one that failed, without waiting.
func (c *checkpointer) note(err error) {
	if err != nil && !isBusy(err) {
		c.trouble.Store(true)
	}
	select {
	case c.written <- struct{}{}:
	default:
	}
}

// run works until ctx ends.
func (c *checkpointer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.written:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkpointPause):
		}
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("copying the write-ahead log back", "error", err)
		}
	}
}

// look does what the length of the log asks for.
func (c *checkpointer) look(ctx context.Context) error {
	pages, copied, err := c.checkpoint(ctx, "NOOP")
	if err != nil {
		return err
	}
	// A full disk may have room again for a log that is begun anew.
	trouble := c.trouble.Swap(false)
	if pages-copied < bulkPages && pages < restartPages && !trouble {
		return nil
	}
	// The bulk is copied while the writer goes on …
	pages, _, err = c.checkpoint(ctx, "PASSIVE")
	if err != nil || pages < restartPages && !trouble {
		return err
	}
	// … so that little is left for the moment in which it has to stand still: only a
	// log that is copied back whole can be begun anew.
	c.gate.turn.Lock()
	defer c.gate.turn.Unlock()
	_, _, err = c.checkpoint(ctx, "RESTART")
	return err
}

// checkpoint returns the number of pages in the log and of those copied back.
func (c *checkpointer) checkpoint(ctx context.Context, mode string) (pages, copied int, err error) {
	var busy int
	err = c.pool.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &copied)
	if err != nil && !isBusy(err) {
		return 0, 0, fmt.Errorf("checkpoint %s: %w", mode, err)
	}
	return pages, copied, nil
}
