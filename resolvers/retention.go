package resolvers

import (
	"context"
	"errors"
	"time"
)

// DeleteOld deletes sessions and submissions that are older than their retention.
func (r *Resolver) DeleteOld(ctx context.Context) {
	r.deleteOld(ctx, "sessions", r.SessionRetention, r.Operators.Archive.PruneSessions)
	r.deleteOld(ctx, "submissions", r.LeadRetention, r.Operators.Archive.PruneSubmissions)
}

// deleteOld deletes what is older than a retention, nothing if that is 0.
func (r *Resolver) deleteOld(
	ctx context.Context, what string, retention time.Duration, prune func(context.Context, time.Time) (int64, error),
) {
	if retention == 0 {
		return
	}
	n, err := prune(ctx, time.Now().Add(-retention))
	if n > 0 { // some may be deleted beside an error
		r.Log.Info().Int64(what, n).Msg("deleted old " + what)
		err = errors.Join(err, r.ForgetPDFs(ctx))
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Error().Err(err).Msg("deleting old " + what)
	}
}
