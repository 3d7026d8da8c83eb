package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"siteapi/cmd/siteapi/internal/config"
)

// anyoneAlive reports whether a service works on a SQLite database: each holds a lock
// on a file of its own in a folder while it does. Files that nobody holds were left by
// processes that were killed.
func anyoneAlive(dir string) (bool, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil {
		return false, fmt.Errorf("looking for services: %w", err)
	}
	for _, path := range paths {
		lock := flock.New(path, flock.SetFlag(0)) // never made: it may be removed at this moment
		free, err := lock.TryRLock()
		switch closeErr := lock.Close(); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil || closeErr != nil:
			return false, fmt.Errorf("looking for services: %w", errors.Join(err, closeErr))
		case !free:
			return true, nil
		}
	}
	return false, nil
}

// Who has a SQLite database open shares a lock on a file beside it, which a restore
// wants for itself: so nobody works on a file that is being replaced.
const (
	openLockName     = "open.flock"
	openLockPatience = 10 * time.Second // with a restore, before the database is given up
	openLockPause    = 50 * time.Millisecond
)

// openLock returns the lock in the folder of lock files, which is made.
func openLock(s *config.Settings) (*flock.Flock, error) {
	if err := os.MkdirAll(lockDir(s), 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of lock files: %w", err)
	}
	return flock.New(filepath.Join(lockDir(s), openLockName), flock.SetPermissions(0o640)), nil
}

// joinDatabase shares the lock until it is closed.
func joinDatabase(ctx context.Context, s *config.Settings) (*flock.Flock, error) {
	lock, err := openLock(s)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, openLockPatience)
	defer cancel()
	if _, err := lock.TryRLockContext(wait, openLockPause); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("a restore is under way")
		}
		return nil, errors.Join(fmt.Errorf("joining those who have the database open: %w", err), lock.Close())
	}
	return lock, nil
}

// claimDatabase takes the lock alone until it is closed, or fails if anyone has the
// database open.
func claimDatabase(s *config.Settings) (*flock.Flock, error) {
	lock, err := openLock(s)
	if err != nil {
		return nil, err
	}
	free, err := lock.TryLock()
	busy := !free
	if err == nil && free {
		busy, err = anyoneAlive(lockDir(s)) // one of an older version does not know the lock
	}
	if err == nil && busy {
		err = errors.New("the database is in use: stop the service, and commands that work on it, first")
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
