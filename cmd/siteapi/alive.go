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

// serviceLock is the lock that services on a data folder share while they run.
func serviceLock(s *config.Settings) *flock.Flock {
	return flock.New(filepath.Join(lockDir(s), "service.flock"), flock.SetPermissions(0o640))
}

// anyoneAlive reports whether a service runs on a data folder.
func anyoneAlive(s *config.Settings) (bool, error) {
	lock := serviceLock(s)
	free, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err = errors.Join(err, lock.Close()); err != nil {
		return false, fmt.Errorf("looking for services: %w", err)
	}
	return !free, nil
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
	if err == nil && busy {
		err = errors.New("the database is in use: stop the service, and commands that work on it, first")
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
