package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"siteapi/cmd/siteapi/internal/config"
)

// lockWait is how long a process waits for a restore.
const lockWait = 10 * time.Second

// shareDatabase takes the lock of a SQLite database together with other processes that have it open. A restore takes it
// alone, so that no process works on a file that is being replaced.
func shareDatabase(ctx context.Context, s *config.Settings) (*flock.Flock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return lockDatabase(s, "a restore is under way",
		func(l *flock.Flock) (bool, error) { return l.TryRLockContext(ctx, 50*time.Millisecond) })
}

// claimDatabase takes the lock alone, or fails if another process has the database open.
func claimDatabase(s *config.Settings) (*flock.Flock, error) {
	return lockDatabase(s, "the database is in use: stop the service, and commands that work on it, first", (*flock.Flock).TryLock)
}

func lockDatabase(s *config.Settings, taken string, try func(*flock.Flock) (bool, error)) (*flock.Flock, error) {
	dir := filepath.Join(s.DataDir, "run")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of the lock file: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "open.flock"), flock.SetPermissions(0o640))
	free, err := try(lock)
	if err == nil && free {
		return lock, nil
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		err = errors.New(taken)
	}
	return nil, errors.Join(fmt.Errorf("locking the database: %w", err), lock.Close())
}
