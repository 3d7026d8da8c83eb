package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/rs/zerolog"
)

// Keys of the PostgreSQL advisory locks. Any numbers do; nobody else may use them.
const (
	lockOfMigrate int64 = 0x7369746561706901
	lockOfRescue  int64 = 0x7369746561706902
)

// Migrate brings River's tables up to date, with an index of our own. Any number of
// processes may call it at once: they take turns. With PostgreSQL it uses two
// connections of the pool.
func (q *Queue[TTx]) Migrate(ctx context.Context) error {
	unlock, err := q.lockMigrations(ctx)
	if err != nil {
		return fmt.Errorf("migrating the delivery queue: %w", err)
	}
	if err := errors.Join(q.migrate(ctx), unlock()); err != nil {
		return fmt.Errorf("migrating the delivery queue: %w", err)
	}
	return nil
}

func (q *Queue[TTx]) migrate(ctx context.Context) error {
	migrator, err := rivermigrate.New(q.driver, &rivermigrate.Config{
		Logger: slog.New(zerolog.NewSlogHandler(riverLog(q.Log))),
	})
	if err != nil {
		return err
	}
	applied, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil || len(applied.Versions) == 0 {
		return err
	}
	// Both databases understand this.
	return q.exec.Exec(ctx, "CREATE INDEX IF NOT EXISTS siteapi_job_submission ON river_job ((args->>'submission'))")
}

// lockMigrations waits for its turn and returns how to end it. River's migrator takes
// no lock itself, and two at once would trip over each other's tables.
func (q *Queue[TTx]) lockMigrations(ctx context.Context) (unlock func() error, err error) {
	if !q.sqlite {
		tx, err := q.exec.Begin(ctx)
		if err != nil {
			return nil, fmt.Errorf("beginning a transaction: %w", err)
		}
		end := func() error { return tx.Rollback(context.WithoutCancel(ctx)) }
		if _, err := tx.PGAdvisoryXactLock(ctx, lockOfMigrate); err != nil {
			return nil, errors.Join(fmt.Errorf("taking the lock: %w", err), end())
		}
		return end, nil
	}
	if err := os.MkdirAll(q.LockDir, 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of lock files: %w", err)
	}
	// Not a client's lock file, and never removed: it has another ending.
	lock := flock.New(filepath.Join(q.LockDir, "migrate.flock"), flock.SetPermissions(0o640))
	const pause = 20 * time.Millisecond
	if _, err := lock.TryLockContext(ctx, pause); err != nil {
		return nil, errors.Join(fmt.Errorf("taking the lock: %w", err), lock.Close())
	}
	return lock.Close, nil
}
