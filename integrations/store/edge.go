package store

import (
	"context"
	"time"
)

// Edge numbers changes of the content and records which of them each receiver was
// notified of. Receivers are caches in front of the service and renderers of the site.
// Times are the database's, since the clocks of instances differ.
type Edge interface {
	// NextChange records a change that the receivers must be notified of and returns its
	// number.
	NextChange(ctx context.Context, receivers []string) (int64, error)

	// Notified returns the number of the last change that a receiver was notified of, and
	// the number of the latest change.
	Notified(ctx context.Context, receiver string) (notified, latest int64, err error)

	// BeginCall records the start of a call to a receiver and returns the number of the
	// latest change. It returns ErrNotFound if the previous call began less than the
	// interval ago.
	BeginCall(ctx context.Context, receiver string, interval time.Duration) (latest int64, err error)

	// EndCall records that a receiver was notified of all changes up to a number; again
	// marks the second notification.
	EndCall(ctx context.Context, receiver string, number int64, again bool) error

	// Behind returns how long each receiver has been behind: not yet notified twice of
	// the latest change.
	Behind(ctx context.Context) (map[string]time.Duration, error)
}
