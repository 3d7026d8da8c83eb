package valkey

import (
	"context"
	"sync"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/valkeyconn"
)

// countLimit bounds the time for counting the entries.
const countLimit = 500 * time.Millisecond

// count is the latest known number of entries. Counting scans all keys of the database,
// including those of other services, so it runs at most once a second.
type count struct {
	mu   sync.Mutex
	size int
	next time.Time // earliest time of the next count
}

// Ping implements [cache.Cache].
func (c *Cache) Ping(context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	return c.failed(client.Do(context.Background(), client.B().Ping().Build()).Error())
}

// Stats implements [cache.Cache].
func (c *Cache) Stats(ctx context.Context) cache.Stats {
	stats := cache.Stats{Type: "valkey", Available: c.Ping(ctx) == nil}
	if client, err := c.client(); stats.Available && err == nil {
		stats.Size = c.size(client)
	}
	return stats
}

// size returns the number of entries. If a count takes too long, it returns the previous
// number or the incomplete count, whichever is greater.
func (c *Cache) size(client *valkeyconn.Client) int {
	c.counted.mu.Lock()
	defer c.counted.mu.Unlock()
	if time.Now().Before(c.counted.next) {
		return c.counted.size
	}

	ctx, cancel := context.WithTimeout(context.Background(), countLimit)
	defer cancel()

	names, err := scan(ctx, client, c.name(client, ""))
	if err == nil || len(names) > c.counted.size {
		c.counted.size = len(names)
	}
	c.counted.next = time.Now().Add(time.Second)
	return c.counted.size
}
