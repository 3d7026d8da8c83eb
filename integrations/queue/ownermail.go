package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
)

// ownerMail names the River queue of the mails that notify operators of leads assigned to
// them. The result of such a mail does not affect the leads.
const ownerMail = "owner_mail"

// ownerMailAttempts take about four hours with River's backoff.
const ownerMailAttempts = 10

// OwnerMail is a mail that notifies an operator of assigned leads.
type OwnerMail struct {
	*HandOvers
	ID    int64    // number of the job
	Leads []string // ids
	Owner string   // a keyed hash of the address
}

// ownerArgs are the arguments of the job of a mail to an operator. River's tables contain
// no address.
type ownerArgs struct {
	Leads []string `json:"leads"`
	Owner string   `json:"owner"`
}

// Kind is River's name for these jobs.
func (ownerArgs) Kind() string { return ownerMail }

// NotifyOwner implements [store.Jobs].
func (h inTx[TDriver, TTx]) NotifyOwner(ctx context.Context, owner string, leadIDs []string) error {
	_, err := h.client.InsertTx(ctx, h.tx, ownerArgs{leadIDs, owner},
		&river.InsertOpts{Queue: ownerMail, MaxAttempts: ownerMailAttempts})
	if err != nil {
		return fmt.Errorf("inserting the job of a mail to an owner: %w", err)
	}
	return nil
}

// ownerWorker sends the mails to owners.
type ownerWorker struct {
	river.WorkerDefaults[ownerArgs]
	*Queue
}

// Timeout bounds an attempt.
func (w *ownerWorker) Timeout(*river.Job[ownerArgs]) time.Duration {
	return lead.SalesMail.AttemptTime() - resultTime
}

// Work sends a mail. A mail that is not to be sent, that the server rejects, that has
// failed too often or that was repeated without a confirmation is dropped. River stores
// the output of a job at once.
func (w *ownerWorker) Work(ctx context.Context, job *river.Job[ownerArgs]) error {
	if wait := w.leaveTo(ctx, lead.SalesMail); wait > 0 {
		return river.JobSnooze(wait)
	}
	h := &HandOvers{job: job.ID, parts: map[string]lead.HandOver{}}
	_ = json.Unmarshal(job.Output(), &h.parts) // empty at first
	h.save = func(ctx context.Context) error {
		_, err := w.client.JobUpdate(ctx, job.ID, &river.JobUpdateParams{Output: h.parts})
		return err
	}
	err := w.handlers.OwnerMail(ctx, OwnerMail{
		HandOvers: h,
		ID:        job.ID,
		Leads:     job.Args.Leads,
		Owner:     job.Args.Owner,
	})
	w.Observe(ownerMail, outcomeOf(ctx, err))

	unsent, decided := errors.AsType[*UnsentError](err)
	switch {
	case err == nil:
		return nil
	case decided && unsent.Until.IsZero():
		w.Log.Info().Int64("job", job.ID).Str("reason", describe(err)).
			Msg("not notifying an owner of assigned leads")
		return nil
	}
	w.Log.Warn().Int64("job", job.ID).Str("reason", describe(err)).
		Msg("cannot notify an owner of assigned leads")
	if decided {
		return river.JobSnooze(time.Until(unsent.Until))
	}
	if upstream.KindOf(err) == upstream.Rejected || errors.Is(err, lead.ErrUnconfirmed) {
		return nil
	}
	return errors.New(describe(err))
}
