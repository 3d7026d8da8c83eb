package main

import (
	"context"
	"errors"
	"time"
)

// upkeep forgets what is older than TRACK_RETENTION and SUBMISSION_RETENTION and reports
// overdue deliveries, once an hour. Every instance does it: what one has removed the others
// don't find.
func (a *app) upkeep(ctx context.Context) {
	ticker := time.NewTicker(upkeepInterval)
	defer ticker.Stop()
	for {
		a.forget(ctx, "sessions", a.settings.TrackRetention, a.data.archive.PruneSessions)
		a.forget(ctx, "submissions", a.settings.LeadRetention, a.data.archive.PruneSubmissions)
		a.reportOverdue(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// forget removes what is older than kept; 0: it is kept for good.
func (a *app) forget(ctx context.Context, what string, kept time.Duration, prune func(context.Context, time.Time) (int64, error)) {
	if kept == 0 {
		return
	}
	n, err := prune(ctx, time.Now().Add(-kept))
	if n > 0 { // some may be removed beside an error
		a.log.Info().Int64(what, n).Msg("forgot old " + what)
		err = errors.Join(err, a.resolver.ForgetPDFs(ctx))
	}
	if err != nil && ctx.Err() == nil {
		a.log.Error().Err(err).Msg("forgetting old " + what)
	}
}

// reportOverdue logs which targets lack leads that are older than queue.OverdueAge.
func (a *app) reportOverdue(ctx context.Context) {
	counts, err := a.queue.Counts(ctx)
	if err != nil && ctx.Err() == nil {
		a.log.Warn().Err(err).Msg("looking for overdue deliveries")
	}
	for _, c := range counts {
		if c.Overdue > 0 {
			a.log.Error().Str("target", string(c.Target)).Int64("deliveries", c.Overdue).Time("oldest", c.Oldest).
				Msg("deliveries are overdue")
		}
	}
}
