// Package cache is the contract with the cache of finished content. Drivers live in
// the folders below; each passes the conformance suite in cachetest.
//
// What a driver guarantees: concurrent misses of one key cause one fill; a fill that
// began before an invalidation neither stores its value after it nor answers a Get
// that began after it; an expired entry is served once more while one refresh runs
// in the background; a pattern means the same in every driver.
package cache

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrUnavailable is what a driver returns, wrapped, while its backend is away. Get
// may return it too: the caller then fills for itself.
var ErrUnavailable = errors.New("cache backend unavailable")

// Entry is a stored value. It is shared: callers don't change it.
type Entry struct {
	// Value is what the fill returned.
	Value []byte
	// Revision names this very value: the same for all readers on all instances while
	// it is stored, another after each fill that brought different bytes.
	Revision string
	// StoredAt is when the fill that brought the value ended.
	StoredAt time.Time
}

// Lifetime says how long an entry is used. It is stored with the entry: that of the
// Get whose fill brought the value counts for all who read it.
type Lifetime struct {
	// Fresh is how long an entry is served without question. 0 or less: for good.
	Fresh time.Duration
	// Stale is how much longer it is served while it is refreshed in the background.
	Stale time.Duration
}

// Fill makes the value of a missing or expired entry. It must honour ctx, which
// carries the values of the request that caused it but not its end: it ends by a
// time-out of the driver's. A panic becomes a [*PanicError] for all who wait.
type Fill func(ctx context.Context) ([]byte, error)

// PanicError is what Get returns where the fill panicked.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // where; for the log, not for a client
}

// Error names the panic without its stack.
func (e *PanicError) Error() string { return fmt.Sprintf("filling the cache panicked: %v", e.Value) }

// FillReport is what a driver tells its owner of each fill that ended, for metrics
// and the log. Nobody else hears of a refresh that failed.
type FillReport struct {
	Key     string
	Took    time.Duration
	Refresh bool  // it ran in the background while the old value was served
	Err     error // what the fill returned
}

// Stats is what a cache reports of itself.
type Stats struct {
	Type      string // "memory", "valkey"
	Size      int    // number of entries of this service
	Available bool   // whether the backend answered just now
}

// Cache keeps finished values by key. All methods may be called concurrently.
type Cache interface {
	// Get returns the entry under key; where there is none it calls fill, stores what
	// it returns and answers with it. An error of fill is returned as it is and not
	// stored; so is that of ctx, while the fill goes on for others. A value of nil
	// without an error is stored like any other. A fill must not Get its own key.
	Get(ctx context.Context, key string, life Lifetime, fill Fill) (Entry, error)
	// Peek returns the entry under key if it is stored and fresh, without filling and
	// without I/O where the driver keeps a local copy.
	Peek(ctx context.Context, key string) (Entry, bool)
	// Invalidate removes the entries under keys everywhere, with all fills under way.
	// When it returns nil they are guaranteed to be gone.
	Invalidate(ctx context.Context, keys ...string) error
	// Clear removes every entry whose key matches pattern, like Invalidate, and returns
	// their number. The pattern "*" removes all entries of this service.
	Clear(ctx context.Context, pattern Pattern) (int, error)
	// Stats asks the backend for its state. A backend that is away is no error.
	Stats(ctx context.Context) Stats
	// Close frees what the cache holds.
	Close() error
}
