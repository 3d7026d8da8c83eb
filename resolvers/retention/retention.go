// Package retention deletes data whose retention has expired, and logs the head of the
// audit.
package retention

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
)

// mailHashLife is how long hashes of addresses and networks are stored after they are
// last needed.
const mailHashLife = 24 * time.Hour

// changesLife is how long changes of leads are stored for disconnected pages.
const changesLife = 24 * time.Hour

// eventsLife is how long deliveries of events are stored after they ended. They outlive their
// leads.
const eventsLife = 90 * 24 * time.Hour

// Job deletes data that is older than its retention. All fields are required.
type Job struct {
	Sessions, Leads, Audit time.Duration // retentions; 0: unlimited

	Store *store.Store
	Log   zerolog.Logger

	// ForgetPDFs clears all documents from the cache.
	ForgetPDFs func(context.Context) (int, error)

	logged string // day on which the head of the audit was last logged
}

// Run deletes expired data. It logs failures and reports success.
func (j *Job) Run(ctx context.Context) (complete bool) {
	complete = true
	for _, step := range []struct {
		what      string
		retention time.Duration
		prune     func(ctx context.Context, before time.Time) (int64, error)
	}{
		{"sessions", j.Sessions, j.Store.PruneSessions},
		{"leads", j.Leads, j.pruneLeads},
		{"audit entries", j.Audit, j.pruneAudit},
		{"mail counts", mailHashLife, j.Store.PruneMails},
		{"lead changes", changesLife, j.Store.PruneChanges},
		{"events", eventsLife, j.Store.PruneEvents},
	} {
		if step.retention == 0 {
			continue
		}

		n, err := step.prune(ctx, time.Now().Add(-step.retention))
		if n > 0 { // some may have been deleted despite an error
			j.Log.Info().Int64("number", n).Msg("deleted old " + step.what)
		}
		complete = j.succeeded(ctx, "cannot delete old "+step.what, err) && complete
	}
	return j.succeeded(ctx, "cannot read the head of the audit", j.logHead(ctx)) && complete
}

// succeeded logs the error of a step and reports whether there is none.
func (j *Job) succeeded(ctx context.Context, failure string, err error) bool {
	if err != nil && ctx.Err() == nil {
		j.Log.Error().Err(err).Msg(failure)
	}
	return err == nil
}

// pruneLeads deletes leads and their rendered documents.
func (j *Job) pruneLeads(ctx context.Context, before time.Time) (int64, error) {
	n, err := j.Store.PruneLeads(ctx, before)
	if n > 0 {
		_, failed := j.ForgetPDFs(ctx)
		err = errors.Join(err, failed)
	}
	return n, err
}

// pruneAudit removes old audit entries. The store records that in an entry, which
// pruneAudit also logs.
func (j *Job) pruneAudit(ctx context.Context, _ time.Time) (int64, error) {
	anchor, err := j.Store.PruneAudit(ctx, j.Audit, time.Now())
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

// logHead logs the head of the audit once a day. If the log is stored elsewhere, it
// reveals a forged chain.
func (j *Job) logHead(ctx context.Context) error {
	today := time.Now().UTC().Format(time.DateOnly)
	if today == j.logged {
		return nil
	}

	seq, hash, err := j.Store.AuditHead(ctx)
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
