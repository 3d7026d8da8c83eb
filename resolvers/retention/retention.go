// Package retention deletes what has been kept for as long as the settings say, and logs the
// head of the audit.
package retention

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
)

// mailHashLife is how long hashes of addresses and networks are kept once they are not
// needed any more.
const mailHashLife = 24 * time.Hour

// changesKept is how long changes of leads are kept for pages that were cut off.
const changesKept = 24 * time.Hour

// Tables are what else is kept for a time.
type Tables interface {
	store.Audit
	store.Mails
	store.Changes
}

// Job deletes what is older than its retention. All fields are required.
type Job struct {
	Sessions, Leads, Audit time.Duration // retentions; 0: unlimited

	Archive store.Archive
	Tables  Tables
	Log     zerolog.Logger

	// ForgetPDFs clears all documents from the cache.
	ForgetPDFs func(context.Context) error

	logged string // the day on which the head of the audit was logged last
}

// Run deletes what is too old now.
func (j *Job) Run(ctx context.Context) {
	j.deleteOld(ctx, "sessions", j.Sessions, j.Archive.PruneSessions)
	j.deleteOld(ctx, "submissions", j.Leads, j.Archive.PruneLeads)
	j.keepAudit(ctx)
	if _, err := j.Tables.PruneMails(ctx, time.Now().Add(-mailHashLife)); err != nil && ctx.Err() == nil {
		j.Log.Error().Err(err).Msg("deleting old counts of mails")
	}
	if _, err := j.Tables.PruneChanges(ctx, time.Now().Add(-changesKept)); err != nil && ctx.Err() == nil {
		j.Log.Error().Err(err).Msg("deleting old changes of leads")
	}
}

// deleteOld deletes sessions or leads, and with them the documents of leads.
func (j *Job) deleteOld(
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
		j.Log.Info().Int64(what, n).Msg("deleted old " + what)
		err = errors.Join(err, j.ForgetPDFs(ctx))
	}
	if err != nil && ctx.Err() == nil {
		j.Log.Error().Err(err).Msg("deleting old " + what)
	}
}

// keepAudit removes old entries of the audit, and logs its head once a day: with the log
// elsewhere, a chain that was made anew is found out.
func (j *Job) keepAudit(ctx context.Context) {
	if j.Audit > 0 {
		if _, err := j.Tables.PruneAudit(ctx, time.Now().Add(-j.Audit)); err != nil && ctx.Err() == nil {
			j.Log.Error().Err(err).Msg("deleting old entries of the audit")
		}
	}

	if today := time.Now().UTC().Format(time.DateOnly); today != j.logged {
		seq, hash, err := j.Tables.AuditHead(ctx)
		if err != nil {
			j.Log.Error().Err(err).Msg("reading the head of the audit")
			return
		}
		j.logged = today
		j.Log.Log().
			Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).
			Int64("entry", seq).
			Str("hash", hash).
			Msg("audit head")
	}
}
