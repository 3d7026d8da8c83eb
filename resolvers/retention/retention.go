// Package retention deletes what has been kept for as long as the settings say, and logs the
// head of the audit.
package retention

import (
	"context"
	"errors"
	"slices"
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

// Run deletes what is too old now. It logs what fails, and returns whether nothing did.
func (j *Job) Run(ctx context.Context) (complete bool) {
	results := []bool{
		j.deleteOld(ctx, "sessions", j.Sessions, j.Archive.PruneSessions),
		j.deleteOld(ctx, "leads", j.Leads, j.Archive.PruneLeads),
		j.pruneAudit(ctx),
		j.logHead(ctx),
	}
	_, mails := j.Tables.PruneMails(ctx, time.Now().Add(-mailHashLife))
	_, changes := j.Tables.PruneChanges(ctx, time.Now().Add(-changesKept))
	results = append(results,
		j.done(ctx, "deleting old counts of mails", mails),
		j.done(ctx, "deleting old changes of leads", changes))
	return !slices.Contains(results, false)
}

// done logs the error of a step, and returns whether there is none.
func (j *Job) done(ctx context.Context, step string, err error) bool {
	if err != nil && ctx.Err() == nil {
		j.Log.Error().Err(err).Msg(step)
	}
	return err == nil
}

// deleteOld deletes sessions or leads, and with them the documents of leads.
func (j *Job) deleteOld(
	ctx context.Context,
	what string,
	retention time.Duration,
	prune func(context.Context, time.Time) (int64, error),
) bool {
	if retention == 0 {
		return true
	}

	n, err := prune(ctx, time.Now().Add(-retention))
	if n > 0 { // some may have been deleted despite an error
		j.Log.Info().Int64(what, n).Msg("deleted old " + what)
		err = errors.Join(err, j.ForgetPDFs(ctx))
	}
	return j.done(ctx, "deleting old "+what, err)
}

// pruneAudit removes old entries of the audit.
func (j *Job) pruneAudit(ctx context.Context) bool {
	if j.Audit == 0 {
		return true
	}
	anchor, err := j.Tables.PruneAudit(ctx, j.Audit, time.Now())
	if anchor.Seq > 0 {
		j.Log.Log().
			Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).
			Int64("entry", anchor.Seq).
			Str("hash", anchor.Hash).
			Stringer("retention", j.Audit).
			Msg("audit anchor")
	}
	return j.done(ctx, "deleting old entries of the audit", err)
}

// logHead logs the head of the audit once a day: with the log elsewhere, a chain that was
// made anew is found out.
func (j *Job) logHead(ctx context.Context) bool {
	today := time.Now().UTC().Format(time.DateOnly)
	if today == j.logged {
		return true
	}

	seq, hash, err := j.Tables.AuditHead(ctx)
	if err == nil {
		j.logged = today
		j.Log.Log().
			Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).
			Int64("entry", seq).
			Str("hash", hash).
			Msg("audit head")
	}
	return j.done(ctx, "reading the head of the audit", err)
}
