package main

import (
	"context"
	"errors"
	"time"
)

// forgetOld removes what is older than TRACK_RETENTION and SUBMISSION_RETENTION, now
// and then. Every instance does it: what one has removed the others don't find.
func (a *app) forgetOld(ctx context.Context) {
	kinds := []struct {
		name string
		kept time.Duration // 0: for good
		from func(ctx context.Context, before time.Time) (int64, error)
	}{
		{"sessions", a.settings.TrackRetention, a.data.archive.PruneSessions},
		{"submissions", a.settings.LeadRetention, a.data.archive.PruneSubmissions},
	}
	ticker := time.NewTicker(pruneInterval)
	defer ticker.Stop()
	for {
		for _, k := range kinds {
			if k.kept == 0 {
				continue
			}
			n, err := k.from(ctx, time.Now().Add(-k.kept))
			// Some may be removed beside an error.
			if n > 0 {
				a.log.Info().Int64(k.name, n).Msg("forgot old " + k.name)
				err = errors.Join(err, a.resolver.ForgetPDFs(ctx))
			}
			if err != nil && ctx.Err() == nil {
				a.log.Error().Err(err).Msg("forgetting old " + k.name)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
