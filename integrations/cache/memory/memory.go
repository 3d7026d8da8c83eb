// Package memory keeps the cache in the process: bounded in bytes, gone with the
// process, and not shared with other instances. It is the default.
//
// Known limits: the bound is enforced in the background, so it may be exceeded for a
// moment, and by entries larger than an eighth of it, which count as an eighth: the
// content of all locales stays in the cache, however large it is.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"siteapi/integrations/cache"
)

const (
	// maxBytes bounds the size of all entries together.
	maxBytes = 64 << 20
	// heaviest is the most that one entry counts.
	heaviest = maxBytes / 8
	// overhead is the number of bytes that an entry takes beside its key and value.
	overhead = 320
)

// Cache is the cache of one process. Create it with New.
type Cache struct {
	entries   *otter.Cache[string, *record]
	loads     singleflight.Group
	refreshes cache.Refreshes

	mu       sync.Mutex           // held while an entry is stored or removed
	inFlight map[string]*inFlight // the fills that may store their values, by key
}

// record is an entry with its lifetime.
type record struct {
	cache.Entry
	life  cache.Lifetime
	until time.Time // the end of its freshness
}

func (r *record) fresh() bool { return time.Now().Before(r.until) }

// inFlight identifies one fill in progress.
type inFlight struct{ key string }

// New returns an empty cache.
func New() *Cache {
	return &Cache{
		inFlight: map[string]*inFlight{},
		entries: otter.Must(&otter.Options[string, *record]{
			MaximumWeight: maxBytes,
			Weigher: func(key string, r *record) uint32 {
				return uint32(min(len(key)+len(r.Value)+overhead, heaviest))
			},
			ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, *record]) time.Duration {
				return e.Value.life.Fresh + e.Value.life.Stale
			}),
		}),
	}
}

// Get implements [cache.Cache].
func (c *Cache) Get(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	r, ok := c.entries.GetIfPresent(key)
	if !ok {
		return c.load(ctx, key, fill)
	}

	if !r.fresh() {
		c.refreshes.Start(key, func() error {
			_, err := c.fill(ctx, key, fill)
			return err
		})
	}

	return r.Entry, nil
}

// load fills a missing entry once for all concurrent callers.
func (c *Cache) load(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	loaded := c.loads.DoChan(key, func() (any, error) {
		if r, ok := c.entries.GetIfPresent(key); ok {
			return r.Entry, nil
		}
		return c.fill(ctx, key, fill)
	})

	select {
	case result := <-loaded:
		entry, _ := result.Val.(cache.Entry)
		return entry, result.Err
	case <-ctx.Done():
		return cache.Entry{}, context.Cause(ctx)
	}
}

// fill runs a fill and stores its value unless the key was removed meanwhile.
func (c *Cache) fill(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	current := &inFlight{key}

	c.mu.Lock()
	c.inFlight[key] = current
	c.mu.Unlock()

	entry, life, err := cache.Run(ctx, fill)

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight[key] != current {
		entry.Overtaken = true
		return entry, err
	}

	delete(c.inFlight, key)
	if err == nil {
		c.entries.Set(key, &record{entry, life, entry.StoredAt.Add(life.Fresh)})
	}
	return entry, err
}

// Peek implements [cache.Cache].
func (c *Cache) Peek(_ context.Context, key string) (cache.Entry, bool) {
	r, ok := c.entries.GetIfPresent(key)
	if !ok || !r.fresh() {
		return cache.Entry{}, false
	}
	return r.Entry, true
}

// Invalidate implements [cache.Cache]. It never fails.
func (c *Cache) Invalidate(_ context.Context, keys ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	for _, key := range keys {
		c.forget(key)
		c.entries.Invalidate(key)
	}
	return nil
}

// forget makes a fill in progress discard its value, so that it answers no later reads.
// The caller holds the lock.
func (c *Cache) forget(key string) {
	delete(c.inFlight, key)
	c.loads.Forget(key)
}

// Clear implements [cache.Cache]. It never fails.
func (c *Cache) Clear(_ context.Context, pattern cache.Pattern) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	for key := range c.inFlight {
		if pattern.Match(key) {
			c.forget(key)
		}
	}

	cleared := 0
	for key := range c.entries.Keys() {
		if pattern.Match(key) {
			c.entries.Invalidate(key)
			cleared++
		}
	}

	return cleared, nil
}

// Ping implements [cache.Cache]. It never fails.
func (c *Cache) Ping(context.Context) error { return nil }

// Stats implements [cache.Cache].
func (c *Cache) Stats(context.Context) cache.Stats {
	size := 0
	for range c.entries.Keys() {
		size++
	}
	return cache.Stats{Type: "memory", Size: size, Available: true}
}

// Close implements [cache.Cache].
func (c *Cache) Close() error {
	c.entries.StopAllGoroutines()
	return nil
}
