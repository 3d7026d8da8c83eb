package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gofrs/flock"
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
