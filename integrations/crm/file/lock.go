package file

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"siteapi/integrations/upstream"
)

// lockPoll is how often a process asks for the lock that another one holds: about the
// time it takes that one to store a contact.
const lockPoll = 5 * time.Millisecond

// locked runs f while no other goroutine or process changes the folder, and
// translates what went wrong.
func (d *Driver) locked(ctx context.Context, op string, f func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return failure(op, err)
	}
	// Goroutines of this process queue up here, so only one of them polls.
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return failure(op, ctx.Err())
	}
	lock := flock.New(filepath.Join(d.dir, ".lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return failure(op, errors.Join(err, lock.Close()))
	}
	defer func() {
		if closeErr := lock.Close(); err == nil && closeErr != nil {
			err = failure(op, closeErr)
		}
	}()
	if err := f(); err != nil {
		return failure(op, err)
	}
	return nil
}

// failure translates an error of the file system. Paths hold digests only, so the
// cause is free of personal data.
func failure(op string, err error) error {
	kind := upstream.Unavailable
	switch {
	case errors.Is(err, errDamaged):
		kind = upstream.Rejected
	case errors.Is(err, fs.ErrPermission):
		kind = upstream.Refused
	}
	return &upstream.Error{System: "file", Op: op, Kind: kind, Err: err}
}
