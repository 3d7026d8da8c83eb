package main

import (
	"context"
	"time"
)

// overdueInterval is the time between two looks for overdue deliveries.
const overdueInterval = time.Minute

// reportOverdue logs, once a minute, that there are deliveries older than queue.OverdueAge.
func (a *app) reportOverdue(ctx context.Context) {
	ticker := time.NewTicker(overdueInterval)
	defer ticker.Stop()
	for {
		counts, err := a.queue.Counts(ctx)
		if err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("looking for overdue deliveries")
		}
		for _, c := range counts {
			if c.Overdue > 0 {
				a.log.Error().Str("target", string(c.Target)).Int64("deliveries", c.Overdue).Time("oldest", c.Oldest).Msg("deliveries are overdue")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
