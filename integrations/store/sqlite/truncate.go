package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"siteapi/integrations/store"
)

// truncatePatience is how long [Truncate] waits for readers and writers.
const truncatePatience = 5 * time.Second

// Truncate copies the write-ahead log of a database file back and empties it, beside
// whoever works on the file: after an erasure the log holds what was erased until it is
// written over. It returns [store.ErrUnavailable] where others don't let it.
func Truncate(ctx context.Context, path string) (err error) {
	db, err := OpenDB(ctx, path, conns(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for deadline := time.Now().Add(truncatePatience); ; {
		done, err := truncate(ctx, db)
		if err != nil && !isBusy(err) {
			return translate("emptying the log", err)
		}
		if done {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("emptying the log: %w: others keep reading or writing", store.ErrUnavailable)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("emptying the log: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func truncate(ctx context.Context, db *sql.DB) (done bool, err error) {
	var busy, pages, copied int
	err = db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &copied)
	return err == nil && busy == 0, err
}
