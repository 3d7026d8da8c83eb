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

// Run deletes what is too old now. It logs what fails, and returns whether nothing did.
func (j *Job) Run(ctx context.Context) (complete bool) {
	complete = true
	for _, step := range []struct {
		what      string
		retention time.Duration
		prune     func(ctx context.Context, before time.Time) (int64, error)
	}{
		{"sessions", j.Sessions, j.Archive.PruneSessions},
		{"leads", j.Leads, j.pruneLeads},
		{"entries of the audit", j.Audit, j.pruneAudit},
		{"counts of mails", mailHashLife, j.Tables.PruneMails},
		{"changes of leads", changesKept, j.Tables.PruneChanges},
	} {
		if step.retention == 0 {
			continue
		}

		n, err := step.prune(ctx, time.Now().Add(-step.retention))
		if n > 0 { // some may have been deleted despite an error
			j.Log.Info().Int64("number", n).Msg("deleted old " + step.what)
		}
		complete = j.done(ctx, "deleting old "+step.what, err) && complete
	}
	return j.done(ctx, "reading the head of the audit", j.logHead(ctx)) && complete
}

// done logs the error of a step, and returns whether there is none.
func (j *Job) done(ctx context.Context, step string, err error) bool {
	if err != nil && ctx.Err() == nil {
		j.Log.Error().Err(err).Msg(step)
	}
	return err == nil
}

// pruneLeads deletes leads, and with them their documents.
func (j *Job) pruneLeads(ctx context.Context, before time.Time) (int64, error) {
	n, err := j.Archive.PruneLeads(ctx, before)
	if n > 0 {
		err = errors.Join(err, j.ForgetPDFs(ctx))
	}
	return n, err
}

// pruneAudit removes old entries of the audit. That is an entry, too, and a line of the log
// with what this entry says.
func (j *Job) pruneAudit(ctx context.Context, _ time.Time) (int64, error) {
	anchor, err := j.Tables.PruneAudit(ctx, j.Audit, time.Now())
	if err == nil && anchor.Seq > 0 {
		j.Log.Log().
			Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).
			Int64("entry", anchor.Seq).
			Str("hash", anchor.Hash).
			Time("at", anchor.At).
			Stringer("retention", j.Audit).
			Msg("audit anchor")
	}
	return 0, err
}

// logHead logs the head of the audit once a day: with the log elsewhere, a chain that was
// made anew is found out.
func (j *Job) logHead(ctx context.Context) error {
	today := time.Now().UTC().Format(time.DateOnly)
	if today == j.logged {
		return nil
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
	return err
}
