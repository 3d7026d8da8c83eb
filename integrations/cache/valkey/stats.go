package valkey

import (
	"context"
	"fmt"
	"sync"
	"time"

	"siteapi/integrations/cache"
)

const (
	countLimit = 500 * time.Millisecond // longest time of one count of the entries
	countPause = 20                     // a count is followed by a pause of so many times its length
)

// count is the latest number of entries. Counting walks over all keys of the database,
// also those of other services, so its pace does not depend on how often it is asked for.
type count struct {
	mu   sync.Mutex
	size int
	next time.Time // earliest time of the next count
}

// Ping implements [cache.Cache].
func (c *Cache) Ping(context.Context) error {
	client, away := c.conn.Client()
	if away != nil {
		return fmt.Errorf("asking the cache: %w: %w", cache.ErrUnavailable, away)
	}
	return c.failed("asking the cache", client.Do(context.Background(), client.B().Ping().Build()).Error())
}

// Stats implements [cache.Cache].
func (c *Cache) Stats(ctx context.Context) cache.Stats {
	stats := cache.Stats{Type: "valkey", Available: c.Ping(ctx) == nil}
	if stats.Available {
		stats.Size = c.size()
	}
	return stats
}

// size returns the number of entries. If a count takes too long, the result is the
// earlier number, or what was counted so far if that is more.
func (c *Cache) size() int {
	c.counted.mu.Lock()
	defer c.counted.mu.Unlock()

	began := time.Now()
	if began.Before(c.counted.next) {
		return c.counted.size
	}

	ctx, cancel := context.WithTimeout(context.Background(), countLimit)
	defer cancel()

	size := 0
	err := c.walk(ctx, "counting", c.entryName(""), func(keys []string) error {
		size += len(keys)
		return nil
	})
	if err == nil || size > c.counted.size {
		c.counted.size = size
	}

	c.counted.next = began.Add(max(time.Second, countPause*time.Since(began)))
	return c.counted.size
}
