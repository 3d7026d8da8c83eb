// Package memory is the default cache. It is stored in the process, bounded in bytes,
// lost when the process ends, and not shared with other instances.
//
// Known limits: the bound is enforced in the background and may be exceeded briefly. An
// entry larger than an eighth of the bound counts as an eighth, so such entries can
// exceed it permanently: the content of all locales stays in the cache regardless of its
// size.
package memory

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"siteapi/integrations/cache"
)

const (
	// maxBytes bounds the total size of all entries.
	maxBytes = 64 << 20
	// maxWeight bounds the size that is counted for one entry.
	maxWeight = maxBytes / 8
	// overhead is the size of an entry in bytes in addition to its key and value.
	overhead = 320
)

// Cache is the cache of one process. Create it with New.
type Cache struct {
	entries *otter.Cache[string, *record]

	mu    sync.Mutex       // held while an entry is stored or removed
	loads map[string]*load // fills that may store their values, by key
}

// record is an entry with its lifetime.
type record struct {
	cache.Entry
	life  cache.Lifetime
	until time.Time // the end of its freshness
}

func (r *record) fresh() bool { return time.Now().Before(r.until) }

// load is a running fill.
type load struct {
	done  chan struct{} // closed when the fields below are set
	entry cache.Entry
	err   error
}

// New returns an empty cache.
func New() *Cache {
	return &Cache{
		loads: map[string]*load{},
		entries: otter.Must(&otter.Options[string, *record]{
			MaximumWeight: maxBytes,
			Weigher: func(key string, r *record) uint32 {
				return uint32(min(len(key)+len(r.Value)+overhead, maxWeight))
			},
			ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, *record]) time.Duration {
				return e.Value.life.Fresh + e.Value.life.Stale
			}),
		}),
	}
}

// Get implements [cache.Cache].
func (c *Cache) Get(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	if entry, fresh := c.Peek(ctx, key); fresh {
		return entry, nil
	}

	c.mu.Lock()
	r, stored := c.entries.GetIfPresent(key)
	l := c.loads[key]
	if l == nil && (!stored || !r.fresh()) {
		l = &load{done: make(chan struct{})}
		c.loads[key] = l
		go c.run(ctx, key, fill, l, stored)
	}
	c.mu.Unlock()

	if stored {
		return r.Entry, nil
	}
	select {
	case <-l.done:
		return l.entry, l.err
	case <-ctx.Done():
		return cache.Entry{}, context.Cause(ctx)
	}
}

// run calls fill and stores the value unless the key was removed in the meantime.
func (c *Cache) run(ctx context.Context, key string, fill cache.Fill, l *load, refresh bool) {
	var life cache.Lifetime
	l.entry, life, l.err = cache.Run(ctx, fill)
	if refresh && l.err != nil {
		time.Sleep(cache.RetryPause) // no other refresh begins until then
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(l.done)
	if c.loads[key] != l {
		l.entry.Superseded = true
		return
	}
	delete(c.loads, key)
	if l.err == nil {
		c.entries.Set(key, &record{l.entry, life, time.Now().Add(life.Fresh)})
	}
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
		delete(c.loads, key)
		c.entries.Invalidate(key)
	}
	return nil
}

// Clear implements [cache.Cache]. It never fails.
func (c *Cache) Clear(_ context.Context, pattern cache.Pattern) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.loads, func(key string, _ *load) bool { return pattern.Match(key) })

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
