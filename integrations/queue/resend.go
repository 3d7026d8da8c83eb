package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/store"
)

// resendChanged names the River queue of the jobs that wait for the end of a delivery, which
// may have read its lead before the lead changed.
const resendChanged = "resend_changed"

const (
	resendWait  = time.Second     // time until a delivery that is running is looked at again
	resendRetry = 5 * time.Second // time until a job is repeated that failed
)

// resendArgs are the arguments of such a job.
type resendArgs struct {
	Lead   string `json:"lead"`
	Target Target `json:"target"`
}

// Kind is River's name for these jobs.
func (resendArgs) Kind() string { return resendChanged }

// ResendChanged delivers leads that have changed to the CMS and the CRM again. Where a
// delivery is under way, a job makes sure that the target gets the lead as it is now.
func (h inTx[TTx]) ResendChanged(ctx context.Context, leadIDs []string) (made []store.Delivery, err error) {
	for _, id := range leadIDs {
		for _, name := range []Target{CMS, CRM} {
			if !h.queue.DeliversTo(name) {
				continue
			}

			d, err := h.resend(ctx, id, h.queue.targets[name].insertOpts())
			switch {
			case err == nil:
				made = append(made, d)
			case errors.Is(err, ErrUnderWay):
				_, err = h.client.InsertTx(ctx, h.tx, resendArgs{id, name}, &river.InsertOpts{Queue: resendChanged})
			}
			if err != nil {
				return nil, fmt.Errorf("delivering a lead that has changed: %w", err)
			}
		}
	}
	return made, nil
}

// Changed lists the deliveries that such jobs wait for. None of them may have ended with the
// lead as it is now.
func (q *Queue) Changed(ctx context.Context) (list []store.Delivery, err error) {
	params := river.NewJobListParams().
		Kinds(resendChanged).
		States(append(waiting(), rivertype.JobStateRunning)...).
		First(pageSize)
	for of := params; ; {
		page, err := q.client.JobList(ctx, of)
		if err != nil {
			return nil, fmt.Errorf("listing leads that have changed: %w", q.Translate(err))
		}

		for _, job := range page.Jobs {
			var args resendArgs
			if err := json.Unmarshal(job.EncodedArgs, &args); err != nil {
				return nil, fmt.Errorf("decoding job %d: %w", job.ID, err)
			}
			list = append(list, store.Delivery{LeadID: args.Lead, Target: string(args.Target)})
		}
		if len(page.Jobs) < pageSize {
			return list, nil
		}
		of = params.After(page.LastCursor)
	}
}

// resendWorker works on these jobs.
type resendWorker struct {
	river.WorkerDefaults[resendArgs]
	*Queue
}

// Work waits for the end of an attempt, and delivers the lead again. A delivery that has not
// ended reads the lead with its next attempt, and one that was removed has no lead any more.
// A failed try is repeated without end, and not counted.
func (w *resendWorker) Work(ctx context.Context, job *river.Job[resendArgs]) error {
	list, err := w.List(ctx, Filter{Leads: []string{job.Args.Lead}, Target: job.Args.Target})
	if err == nil && len(list) > 0 {
		switch d := list[0]; d.State {
		case Running:
			return river.JobSnooze(resendWait)
		case Delivered, NotSent, Failed:
			err = w.Retry(ctx, d.ID)
		}
	}

	switch {
	case err == nil, errors.Is(err, store.ErrNotFound):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", ctx.Err())
	}
	w.Log.Warn().Str("target", string(job.Args.Target)).Str("reason", describe(err)).
		Msg("delivering a lead that has changed")
	return river.JobSnooze(resendRetry)
}
