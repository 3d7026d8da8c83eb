package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/lead"
)

// args are the arguments of a delivery's job, whose queue is named after the target.
// River's tables contain no personal data.
type args struct {
	Lead string `json:"lead"`
}

// Kind is River's name for deliveries.
func (args) Kind() string { return "delivery" }

// inTx is the queue within a transaction of the store. It inserts the jobs of deliveries.
type inTx[TDriver riverdriver.Driver[TTx], TTx any] struct {
	Options
	client *river.Client[TTx]
	tx     TTx
}

// Enqueue implements [store.Jobs]. Any process may call it. River never gives up on a
// job: the worker counts its failures.
func (h inTx[TDriver, TTx]) Enqueue(
	ctx context.Context, leadIDs []string, targets ...lead.Target,
) (list []lead.Delivery, err error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	var jobs []river.InsertManyParams
	for _, id := range leadIDs {
		for _, c := range h.Targets {
			d := lead.Delivery{LeadID: id, Target: c.Name, CreatedAt: now}
			forNewLead := len(targets) == 0
			switch {
			case forNewLead && c.Off && c.Name.BestEffort():
				d.State, d.FinishedAt, d.Code = lead.NotSent, now, c.NoMail
			case forNewLead && !c.Off, slices.Contains(targets, c.Name):
				d.State, d.MaxAttempts = lead.Pending, attempts(h.RetryMax)
				jobs = append(jobs, river.InsertManyParams{
					Args:       args{id},
					InsertOpts: &river.InsertOpts{Queue: string(c.Name), MaxAttempts: math.MaxInt16},
				})
			default:
				continue
			}
			list = append(list, d)
		}
	}
	if len(jobs) == 0 {
		return list, nil
	}

	inserted, err := h.client.InsertManyTx(ctx, h.tx, jobs)
	if err != nil {
		return nil, fmt.Errorf("inserting the jobs of deliveries: %w", err)
	}
	for i := range list {
		if list[i].State == lead.Pending {
			list[i].Job, inserted = inserted[0].Job.ID, inserted[1:]
		}
	}
	return list, nil
}

// TargetsOf implements [store.Jobs].
func (h inTx[TDriver, TTx]) TargetsOf(event lead.Event, announced bool) (targets []lead.Target) {
	for _, c := range h.Targets {
		wanted := slices.Contains(c.Always, event) || announced && slices.Contains(c.Events, event)
		if !c.Off && wanted {
			targets = append(targets, c.Name)
		}
	}
	return targets
}

// IsDue implements [store.Jobs].
func (h inTx[TDriver, TTx]) IsDue(ctx context.Context, job int64) (bool, error) {
	row, err := h.client.JobGetTx(ctx, h.tx, job)
	if errors.Is(err, river.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the job of a delivery: %w", err)
	}
	return row.State == rivertype.JobStateAvailable, nil
}

// Complete implements [store.Jobs]. River needs only the id and the state of the job.
func (h inTx[TDriver, TTx]) Complete(ctx context.Context, job int64) error {
	running := &river.Job[args]{JobRow: &rivertype.JobRow{ID: job, State: rivertype.JobStateRunning}}
	if _, err := river.JobCompleteTx[TDriver](ctx, h.tx, running); err != nil {
		return fmt.Errorf("completing the job of a delivery: %w", err)
	}
	return nil
}

// DeliversTo reports whether this process delivers leads to a target.
func (q *Queue) DeliversTo(name lead.Target) bool {
	t, ok := q.targets[name]
	return ok && !t.Off
}
