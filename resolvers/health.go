package resolvers

import (
	"context"
	"time"

	"siteapi/resolvers/health"
	"siteapi/schema"
)

// examineTime limits the checks of serviceHealth. An operation may take longer.
const examineTime = 8 * time.Second

// serviceHealth implements the root field of that name.
func (r *Resolver) serviceHealth(ctx context.Context) *schema.ServiceHealth {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()

	found := &schema.ServiceHealth{
		Checks:  health.Examine(ctx, r.Checks),
		Cache:   newCacheStats(r.Cache.Stats(ctx)),
		Version: r.Version,
	}
	if r.Content != nil { // a command holds no content
		found.Content = r.Content.Health()
	}
	return found
}
