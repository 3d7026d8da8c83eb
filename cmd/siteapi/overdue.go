package main

import (
	"context"
	"time"

	"siteapi/cmd/siteapi/internal/config"
)

// overdueInterval is the time between two looks for overdue deliveries.
const overdueInterval = time.Minute

// reportOverdue logs, once a minute, that there are deliveries older than config.DeliveryOverdue.
func (a *app) reportOverdue(ctx context.Context) {
	ticker := time.NewTicker(overdueInterval)
	defer ticker.Stop()
	for {
		number, oldest, err := a.queue.Overdue(ctx, time.Now().Add(-config.DeliveryOverdue))
		switch {
		case err != nil && ctx.Err() == nil:
			a.log.Warn().Err(err).Msg("looking for overdue deliveries")
		case number > 0:
			a.log.Error().Int("deliveries", number).Time("oldest", oldest).Msg("deliveries are overdue")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
