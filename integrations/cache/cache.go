// Package cache is the contract of the cache. Drivers live in the folders below; each
// passes the conformance suite in cachetest.
//
// Every driver guarantees the following:
//
//   - Concurrent misses of one key cause one fill.
//   - A fill that began before an invalidation does not store its value, and does not
//     answer a Get that began after the invalidation.
//   - A server that was started again with old data serves none of it.
//   - An entry that is no longer fresh is still served, for its Stale time, while each
//     instance refreshes it once in the background.
//   - A pattern means the same in every driver.
package cache

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable is returned, wrapped, by Invalidate and Clear while the backend is away.
var ErrUnavailable = errors.New("cache backend unavailable")

// Entry is a stored value. It is shared: callers must not change it.
type Entry struct {
	Value []byte
	// Revision is derived from the value alone, so it is the same on all instances.
	Revision string
	// Overtaken means that the key was invalidated during the fill, or the backend went
	// away: the value was not stored and answers only those who waited for it.
	Overtaken bool
}

// Lifetime says how long an entry is used.
type Lifetime struct {
	// Fresh is how long the entry is served as it is. 0 means without limit.
	Fresh time.Duration
	// Stale is how much longer it is served while it is refreshed in the background.
	Stale time.Duration
}

// Fill makes the value of a missing or expired entry and says how long to use it. Its
// context carries the values of the request that caused it, but outlives that request and
// ends after FillTimeout.
type Fill func(ctx context.Context) (value []byte, life Lifetime, err error)

// Stats is the state of a cache.
type Stats struct {
	Type      string // "memory" or "valkey"
	Size      int    // number of entries of this service, counted within the last seconds
	Available bool   // true if the backend answered just now
}

// Cache keeps values by key. All methods may be called concurrently.
type Cache interface {
	// Get returns the entry under key. On a miss it calls fill, stores the value and
	// returns it. An error of fill is returned and nothing is stored. While the backend
	// is away each instance fills for itself.
	Get(ctx context.Context, key string, fill Fill) (Entry, error)

	// Peek returns the entry under key if it is stored and fresh, without filling. A
	// value that was read recently needs no I/O.
	Peek(ctx context.Context, key string) (Entry, bool)

	// Invalidate removes the entries under keys everywhere, and discards all fills of
	// them under way. When it returns nil the entries are guaranteed to be gone.
	Invalidate(ctx context.Context, keys ...string) error

	// Clear removes every entry whose key matches pattern, like Invalidate, and
	// returns their number.
	Clear(ctx context.Context, pattern Pattern) (int, error)

	// Ping makes one cheap round trip, and returns an error while the backend is away.
	Ping(ctx context.Context) error

	// Stats asks the backend for its state. However often it is called, entries are
	// counted at most once a second.
	Stats(ctx context.Context) Stats

	// Close frees the resources of the cache.
	Close() error
}
