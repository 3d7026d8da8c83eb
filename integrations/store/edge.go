package store

import (
	"context"
	"time"
)

// Edge counts changes of the content, and keeps which of them the receivers of changes were
// notified of: caches in front, and renderers of the site. Times are those of the database,
// since clocks of instances differ.
type Edge interface {
	// NextChange returns the number of a change that some receivers have to be notified of.
	NextChange(ctx context.Context, receivers []string) (int64, error)

	// Notified returns the number of the last change that a receiver was notified of, and that
	// of the last change.
	Notified(ctx context.Context, receiver string) (notified, latest int64, err error)

	// BeginCall begins a call of a receiver and returns the number of the last change. It
	// returns ErrNotFound if the last call began less than the interval ago.
	BeginCall(ctx context.Context, receiver string, interval time.Duration) (latest int64, err error)

	// EndCall stores that a receiver was notified of all changes up to a number, and with
	// again that this was the second time.
	EndCall(ctx context.Context, receiver string, number int64, again bool) error

	// Behind returns for how long receivers have not been notified twice of a change.
	Behind(ctx context.Context) (map[string]time.Duration, error)
}
