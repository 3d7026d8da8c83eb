package telemetry

import (
	"context"
	"strings"
	"time"

	"siteapi/integrations/cache"
)

// Cache counts the reads of a cache. A read that finds an entry, fresh or expired, is a
// hit; one that waits for a fill is a miss. Peek only asks whether an entry is current and
// is not counted.
func (m *Metrics) Cache(c cache.Cache) cache.Cache {
	for _, family := range []string{"content", "quote"} {
		m.reads.WithLabelValues(family, "hit")
		m.reads.WithLabelValues(family, "miss")
	}
	return &meteredCache{c, m}
}

type meteredCache struct {
	cache.Cache
	metrics *Metrics
}

// Get implements [cache.Cache].
func (c *meteredCache) Get(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	began := time.Now()
	entry, err := c.Cache.Get(ctx, key, fill)
	outcome := "miss"
	if err == nil && entry.StoredAt.Before(began) {
		outcome = "hit"
	}
	family, _, _ := strings.Cut(key, ":")
	c.metrics.reads.WithLabelValues(family, outcome).Inc()
	return entry, err
}
