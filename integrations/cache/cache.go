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

// Lifetime says how long an entry is used.
type Lifetime struct {
	// Fresh is how long an entry is served without question. 0 or less: for good.
	Fresh time.Duration
	// Stale is how much longer it is served while it is refreshed in the background.
	Stale time.Duration
}

// Fill makes the value of a missing or expired entry. It must honour ctx, which is
// not cancelled by the end of the request that caused it.
type Fill func(ctx context.Context) ([]byte, error)

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
	// stored. A value of nil without an error is stored like any other.
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
