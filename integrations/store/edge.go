package store

import (
	"context"
	"time"
)

// Edge counts changes of the content, and keeps which of them the receivers of changes were
// told of: caches in front, and renderers of the site. Times are those of the database, since
// clocks of instances differ.
type Edge interface {
	// NextChange returns the number of a change that some receivers are going to be told of.
	NextChange(ctx context.Context, receivers []string) (int64, error)

	// ToldOf returns the number that a receiver was told of, and that of the last change.
	ToldOf(ctx context.Context, receiver string) (told, latest int64, err error)

	// BeginCall begins a call of a receiver, which tells of all changes up to a number,
	// unless the last one began less than the interval ago: then it returns the rest of it.
	BeginCall(ctx context.Context, receiver string, interval time.Duration) (latest int64, rest time.Duration, err error)

	// EndCall stores that a receiver was told of all changes up to a number. With again it
	// was told as often as it has to be.
	EndCall(ctx context.Context, receiver string, latest int64, again bool) error

	// Behind returns for how long receivers have not been told of a change as often as they
	// have to be.
	Behind(ctx context.Context) (map[string]time.Duration, error)
}
