// Package cache defines the contract of the cache. Drivers live in the folders below;
// each passes the conformance suite in cachetest.
//
// Every driver guarantees the following:
//
//   - Concurrent misses of one key cause one fill.
//   - A fill that began before an invalidation neither stores its value nor returns it to a
//     Get that began after the invalidation.
//   - Data that a server restores after a restart is never served.
//   - An expired entry is still served for its Stale time, while each instance refreshes it
//     once in the background.
//   - Patterns have the same meaning in every driver.
package cache

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable is returned, wrapped, by Invalidate and Clear while the backend is
// unavailable.
var ErrUnavailable = errors.New("cache backend unavailable")

// Entry is a stored value. It is shared: callers must not change it.
type Entry struct {
	Value []byte
	// Revision is derived only from the value, so it is identical on all instances.
	Revision string
	// Superseded means that the value was not stored, because the key was invalidated
	// during the fill or the backend became unavailable. Only callers that waited for the
	// fill receive such an entry.
	Superseded bool
}

// Lifetime is how long an entry is used.
type Lifetime struct {
	// Fresh is how long the entry is served without a refresh; 0: forever.
	Fresh time.Duration
	// Stale is how long it is still served afterward, while it is refreshed in the
	// background.
	Stale time.Duration
}

// Fill loads the value of a missing or expired entry and returns it with its lifetime.
// The context carries the values of the request that caused the fill, but it outlives
// that request and ends after FillTimeout.
type Fill func(ctx context.Context) (value []byte, life Lifetime, err error)

// Stats is the state of a cache.
type Stats struct {
	Type      string // "memory" or "valkey"
	Size      int    // number of entries of this service, at most a few seconds old
	Available bool   // true if the backend is available
}

// Cache stores values by key. All methods may be called concurrently.
type Cache interface {
	// Get returns the entry under key. On a miss it calls fill, stores the value and
	// returns it. If fill fails, Get returns the error and stores nothing. While the
	// backend is unavailable, each instance fills independently.
	Get(ctx context.Context, key string, fill Fill) (Entry, error)

	// Peek returns the entry under key if it is stored and fresh. It never fills, and
	// needs no I/O for a recently read value.
	Peek(ctx context.Context, key string) (Entry, bool)

	// Invalidate removes the entries under keys on all instances, and discards running
	// fills of these keys. When it returns nil, the entries are guaranteed to be removed.
	Invalidate(ctx context.Context, keys ...string) error

	// Clear is like Invalidate for every entry whose key matches pattern. It returns the
	// number of removed entries.
	Clear(ctx context.Context, pattern Pattern) (int, error)

	// Ping checks the backend with one cheap round trip, and fails while it is
	// unavailable.
	Ping(ctx context.Context) error

	// Stats returns the current state of the backend. A driver whose count needs I/O
	// counts at most once a second, regardless of the number of calls.
	Stats(ctx context.Context) Stats

	// Close frees the resources of the cache.
	Close() error
}
