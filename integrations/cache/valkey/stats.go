package valkey

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"siteapi/integrations/cache"
)

const (
	// countWait is how long Stats waits for a count.
	countWait = time.Second
	// countAge is how long a count is believed though nothing seems to have changed.
	countAge = 10 * time.Second
)

// Stats implements [cache.Cache]. Counting means to walk over all keys of the server,
// so it is done once for all who ask, and not again before something changed. On a
// server of many millions of keys the number may be that of the count before.
func (c *Cache) Stats(ctx context.Context) cache.Stats {
	stats := cache.Stats{Type: "valkey"}
	if err := c.link.Ping(ctx); err != nil {
		c.link.Check()
		return stats
	}
	if _, up := c.link.Client(); !up {
		c.link.Check() // it is back, and reads should know before the next heartbeat
	}
	stats.Available = true
	stats.Size = c.counter.count(ctx, func(ctx context.Context) (int, error) {
		n := 0
		err := c.scan(ctx, "counting", c.names.entries(), cache.All(), func(keys []string) error {
			n += len(keys)
			return nil
		})
		return n, err
	})
	return stats
}

// counter remembers the number of entries as long as nothing changes.
type counter struct {
	changes atomic.Uint64

	mu      sync.Mutex
	size    int
	at      time.Time     // when size was counted
	version uint64        // changes before it was counted
	running chan struct{} // closed when the count under way ends; nil: none
}

// changed makes the next count a new one.
func (c *counter) changed() { c.changes.Add(1) }

// count returns the number of entries, counting them if need be.
func (c *counter) count(ctx context.Context, walk func(context.Context) (int, error)) int {
	limit := time.After(countWait)
	for {
		c.mu.Lock()
		if !c.at.IsZero() && c.version == c.changes.Load() && time.Since(c.at) < countAge {
			defer c.mu.Unlock()
			return c.size
		}
		if c.running == nil {
			c.running = make(chan struct{})
			go c.walk(context.WithoutCancel(ctx), walk)
		}
		running := c.running
		c.mu.Unlock()
		select {
		case <-running:
		case <-limit:
			return c.last()
		case <-ctx.Done():
			return c.last()
		}
	}
}

// last returns the latest count.
func (c *counter) last() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// walk counts and wakes those who wait.
func (c *counter) walk(ctx context.Context, walk func(context.Context) (int, error)) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	version := c.changes.Load()
	size, err := walk(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.size, c.at, c.version = size, time.Now(), version
	}
	close(c.running)
	c.running = nil
}
