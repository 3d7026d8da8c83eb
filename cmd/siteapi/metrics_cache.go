package main

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"siteapi/integrations/cache"
)

// meteredCache counts what is read from a cache. A read that finds an entry, fresh or
// expired, is a hit; one that has to wait for a fill is a miss.
type meteredCache struct {
	cache.Cache
	content, other cacheReads
}

// cacheReads are the counters of one family of keys.
type cacheReads struct{ hit, miss prometheus.Counter }

// meter puts the counters before a cache.
func (m *metrics) meter(c cache.Cache) *meteredCache {
	family := func(name string) cacheReads {
		return cacheReads{m.reads.WithLabelValues(name, "hit"), m.reads.WithLabelValues(name, "miss")}
	}
	return &meteredCache{c, family("content"), family("quote")}
}

func (c *meteredCache) reads(key string) *cacheReads {
	if strings.HasPrefix(key, "content:") {
		return &c.content
	}
	return &c.other
}

// Get implements [cache.Cache].
func (c *meteredCache) Get(ctx context.Context, key string, life cache.Lifetime, fill cache.Fill) (cache.Entry, error) {
	began := time.Now()
	entry, err := c.Cache.Get(ctx, key, life, fill)
	if reads := c.reads(key); err == nil && entry.StoredAt.Before(began) {
		reads.hit.Inc()
	} else {
		reads.miss.Inc()
	}
	return entry, err
}

// Peek implements [cache.Cache]. Where it finds nothing, a Get follows.
func (c *meteredCache) Peek(ctx context.Context, key string) (cache.Entry, bool) {
	entry, ok := c.Cache.Peek(ctx, key)
	if ok {
		c.reads(key).hit.Inc()
	}
	return entry, ok
}
