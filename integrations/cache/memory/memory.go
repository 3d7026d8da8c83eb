// Package memory keeps the cache in the process: bounded in bytes, gone with the
// process, and not shared with other instances. It is the default.
//
// Known limits: the bound is kept in the background, so it may be exceeded for a
// moment; an entry greater than the whole room is filled anew by every Get.
package memory

import (
	"context"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/internal/shelf"
)

// Options of the cache. Zero fields have the stated defaults.
type Options struct {
	// MaxBytes bounds keys and values with about 300 bytes more for each entry. Default: 64 MiB.
	MaxBytes int64
	// FillTimeout is how long one fill may take. Default: 10 s.
	FillTimeout time.Duration
	// RetryAfter is the pause after a refresh that failed; it doubles with each further
	// failure up to 30 s. Default: 1 s.
	RetryAfter time.Duration
	// OnFill, if set, is told of each fill that ended. It must be fast.
	OnFill func(cache.FillReport)
	// Clock decides when entries expire. Default: the monotonic clock.
	Clock func() time.Time
}

// Cache is the cache of one process.
type Cache struct {
	shelf  *shelf.Shelf
	clock  func() time.Time
	onFill func(cache.FillReport)
}

var _ cache.Cache = (*Cache)(nil)

// New returns an empty cache.
func New(o Options) (*Cache, error) {
	s, err := shelf.New(shelf.Options{
		MaxBytes: o.MaxBytes, FillTimeout: o.FillTimeout, RetryAfter: o.RetryAfter, Clock: o.Clock,
	})
	if err != nil {
		return nil, err
	}
	c := &Cache{shelf: s, clock: o.Clock, onFill: o.OnFill}
	if c.clock == nil {
		c.clock = time.Now
	}
	return c, nil
}

// Get implements [cache.Cache].
func (c *Cache) Get(ctx context.Context, key string, life cache.Lifetime, fill cache.Fill) (cache.Entry, error) {
	if e, ok := c.shelf.Peek(key); ok {
		return e, nil
	}
	return c.load(ctx, key, life, fill)
}

// load is the part of Get that may have to fill; apart, because its closure would
// cost the hot path an allocation.
func (c *Cache) load(ctx context.Context, key string, life cache.Lifetime, fill cache.Fill) (cache.Entry, error) {
	return c.shelf.Get(ctx, key, func(ctx context.Context, f *shelf.Flight) (*shelf.Record, error) {
		value, err := shelf.Filling{Key: key, Refresh: f.Refresh(), Report: c.onFill}.Run(ctx, fill)
		if err != nil {
			return nil, err
		}
		e := cache.Entry{Value: value, Revision: cache.RevisionOf(value), StoredAt: c.clock()}
		return c.shelf.NewRecord(e, life), nil
	})
}

// Peek implements [cache.Cache].
func (c *Cache) Peek(_ context.Context, key string) (cache.Entry, bool) { return c.shelf.Peek(key) }

// Invalidate implements [cache.Cache]. It never fails.
func (c *Cache) Invalidate(_ context.Context, keys ...string) error {
	c.shelf.Drop(keys...)
	return nil
}

// Clear implements [cache.Cache]. It never fails.
func (c *Cache) Clear(_ context.Context, pattern cache.Pattern) (int, error) {
	return c.shelf.DropMatching(pattern.Match), nil
}

// Stats implements [cache.Cache].
func (c *Cache) Stats(context.Context) cache.Stats {
	return cache.Stats{Type: "memory", Size: c.shelf.Len(), Available: true}
}

// Close implements [cache.Cache]. It ends the fills under way. A Get after it still
// answers, by filling every time.
func (c *Cache) Close() error {
	c.shelf.Close()
	return nil
}
