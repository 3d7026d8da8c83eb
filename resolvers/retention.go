package resolvers

import (
	"context"
	"errors"
	"time"
)

// mailHashLife is how long hashes of addresses and networks are kept once they are not
// needed any more.
const mailHashLife = 24 * time.Hour

// changesKept is how long changes of leads are kept for pages that were cut off.
const changesKept = 24 * time.Hour

// DeleteOld deletes sessions and leads that are older than their retention.
func (r *Resolver) DeleteOld(ctx context.Context) {
	r.deleteOld(ctx, "sessions", r.SessionRetention, r.Operators.Archive.PruneSessions)
	r.deleteOld(ctx, "submissions", r.LeadRetention, r.Operators.Archive.PruneLeads)
	r.keepAudit(ctx)
	if _, err := r.Mail.Claims.PruneMails(ctx, r.Now().Add(-mailHashLife)); err != nil && ctx.Err() == nil {
		r.Log.Error().Err(err).Msg("deleting old counts of mails")
	}
	if _, err := r.Live.Changes.PruneChanges(ctx, r.Now().Add(-changesKept)); err != nil && ctx.Err() == nil {
		r.Log.Error().Err(err).Msg("deleting old changes of leads")
	}
}

// deleteOld deletes everything older than a retention. A retention of 0 deletes nothing.
func (r *Resolver) deleteOld(
	ctx context.Context,
	what string,
	retention time.Duration,
	prune func(context.Context, time.Time) (int64, error),
) {
	if retention == 0 {
		return
	}

	n, err := prune(ctx, time.Now().Add(-retention))
	if n > 0 { // some may have been deleted despite an error
		r.Log.Info().Int64(what, n).Msg("deleted old " + what)
		err = errors.Join(err, r.ForgetPDFs(ctx))
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Error().Err(err).Msg("deleting old " + what)
	}
}
