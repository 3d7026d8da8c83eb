package resolvers

import (
	"context"
	"time"

	"siteapi/resolvers/health"
	"siteapi/schema"
)

// examineTime limits the checks of serviceHealth. An operation may take longer.
const examineTime = 8 * time.Second

// ServiceHealth resolves the root field `serviceHealth`.
func (r *SiteResolver) ServiceHealth(ctx context.Context) (*schema.ServiceHealth, error) {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()

	found := &schema.ServiceHealth{
		Checks:  health.Examine(ctx, r.Checks),
		Cache:   newCacheStats(r.Cache.Stats(ctx)),
		Version: r.Version,
	}
	if r.Site != nil { // a command holds no content
		found.Content = r.Site.Health()
	}
	return found, nil
}
