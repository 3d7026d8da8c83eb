package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// clientLock is a process's sign of life: a lock on a file named after its client id,
// which the kernel gives up when the process ends, however it ends.
type clientLock struct{ file *flock.Flock }

const lockSuffix = ".lock"

func lockPath(dir, clientID string) string { return filepath.Join(dir, clientID+lockSuffix) }

// lockClient takes the lock of a client id, or fails if a living process holds it.
func lockClient(ctx context.Context, dir, clientID string) (*clientLock, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of lock files: %w", err)
	}
	// Another process may hold the lock for a moment to see whether we are alive.
	const patience, pause = time.Second, 10 * time.Millisecond
	deadline := time.Now().Add(patience)
	for {
		lock, ok, err := tryLock(lockPath(dir, clientID))
		if err != nil || ok {
			return lock, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another process works as client %q", clientID)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("taking the lock of client %q: %w", clientID, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// tryLock takes a lock, or returns false where somebody holds it.
func tryLock(path string) (lock *clientLock, ok bool, err error) {
	file := flock.New(path, flock.SetPermissions(0o640))
	ok, err = file.TryLock()
	if err != nil {
		return nil, false, fmt.Errorf("locking %s: %w", filepath.Base(path), err)
	}
	if !ok {
		return nil, false, file.Close()
	}
	// Between opening and locking the file may have been removed by who held it: then
	// the lock is on a file that nobody else will ever find.
	ours, err := file.Stat()
	if err != nil {
		return nil, false, errors.Join(fmt.Errorf("looking at %s: %w", filepath.Base(path), err), file.Close())
	}
	there, err := os.Stat(path)
	if err != nil || !os.SameFile(ours, there) {
		return nil, false, file.Close()
	}
	return &clientLock{file}, true, nil
}

// deadLocks takes the locks of all clients but one whose process is gone, by client
// id. While they are held, nobody else takes those clients for dead too.
func deadLocks(dir, except string) (map[string]*clientLock, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+lockSuffix))
	if err != nil {
		return nil, fmt.Errorf("listing lock files: %w", err)
	}
	dead := map[string]*clientLock{}
	for _, path := range paths {
		id := strings.TrimSuffix(filepath.Base(path), lockSuffix)
		if id == except {
			continue
		}
		lock, ok, err := tryLock(path)
		if err != nil {
			return dead, err
		}
		if ok {
			dead[id] = lock
		}
	}
	return dead, nil
}

// hasLock reports whether there is a lock file of a client at all. Its holder lives
// unless deadLocks has just taken it.
func hasLock(dir, clientID string) bool {
	_, err := os.Stat(lockPath(dir, clientID))
	return err == nil
}

// release removes the file and gives up the lock. A nil lock is none.
func (l *clientLock) release() error {
	if l == nil {
		return nil
	}
	if err := os.Remove(l.file.Path()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("removing a lock file: %w", err), l.file.Close())
	}
	return l.abandon()
}

// abandon gives up the lock and leaves the file.
func (l *clientLock) abandon() error {
	if l == nil {
		return nil
	}
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("giving up a lock: %w", err)
	}
	return nil
}
