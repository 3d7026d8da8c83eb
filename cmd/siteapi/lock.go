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

// databaseLock returns the lock file of a SQLite database. A process that has the database open shares the lock; a
// restore takes it alone, so that no process works on a file that is being replaced.
func databaseLock(s *config.Settings) (*flock.Flock, error) {
	dir := filepath.Join(s.DataDir, "run")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of the lock file: %w", err)
	}
	return flock.New(filepath.Join(dir, "open.flock"), flock.SetPermissions(0o640)), nil
}

// shareDatabase takes the lock together with other processes. It waits ten seconds for a restore.
func shareDatabase(ctx context.Context, s *config.Settings) (*flock.Flock, error) {
	lock, err := databaseLock(s)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := lock.TryRLockContext(wait, 50*time.Millisecond); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("a restore is under way")
		}
		return nil, errors.Join(fmt.Errorf("locking the database: %w", err), lock.Close())
	}
	return lock, nil
}

// claimDatabase takes the lock alone, or fails if another process has the database open.
func claimDatabase(s *config.Settings) (*flock.Flock, error) {
	lock, err := databaseLock(s)
	if err != nil {
		return nil, err
	}
	free, err := lock.TryLock()
	if err == nil && !free {
		err = errors.New("the database is in use: stop the service, and commands that work on it, first")
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
