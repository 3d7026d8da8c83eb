package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/store"
)

// inTx is the queue within a transaction of the store.
type inTx[TTx any] struct {
	queue  *Queue
	client *river.Client[TTx]
	tx     TTx
}

// Enqueue creates the deliveries of new leads. Any process may call it.
func (h inTx[TTx]) Enqueue(ctx context.Context, leadIDs []string) ([]store.Delivery, error) {
	var list []store.Delivery
	for _, c := range h.queue.Targets {
		for _, id := range leadIDs {
			list = append(list, store.Delivery{LeadID: id, Target: string(c.Name)})
		}
	}
	return h.Restore(ctx, list)
}

// Restore creates single deliveries, except for targets that get no new ones.
func (h inTx[TTx]) Restore(ctx context.Context, list []store.Delivery) (made []store.Delivery, err error) {
	var params []river.InsertManyParams
	for _, d := range list {
		if t := h.queue.targets[Target(d.Target)]; t != nil && !t.Off {
			params = append(params, river.InsertManyParams{
				Args:       args{d.LeadID},
				InsertOpts: t.insertOpts(),
			})
		}
	}

	if len(params) == 0 {
		return nil, nil
	}
	inserted, err := h.client.InsertManyTx(ctx, h.tx, params)
	if err != nil {
		return nil, fmt.Errorf("enqueueing deliveries: %w", err)
	}

	for _, i := range inserted {
		d, err := deliveryOf(i.Job)
		if err != nil {
			return nil, err
		}
		made = append(made, d.recorded())
	}
	return made, nil
}

// retry makes a delivery due now. A job of another kind is none.
func (h inTx[TTx]) retry(ctx context.Context, id int64) (store.Delivery, error) {
	job, err := h.client.JobRetryTx(ctx, h.tx, id)
	if errors.Is(err, rivertype.ErrNotFound) || err == nil && job.Kind != (args{}).Kind() {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Delivery{}, fmt.Errorf("retrying delivery %d: %w", id, err)
	}

	d, err := deliveryOf(job)
	return d.recorded(), err
}

// resend creates a delivery, or makes the one that has ended due now.
func (h inTx[TTx]) resend(ctx context.Context, leadID string, opts *river.InsertOpts) (store.Delivery, error) {
	inserted, err := h.client.InsertTx(ctx, h.tx, args{leadID}, opts)
	switch {
	case err != nil:
		return store.Delivery{}, fmt.Errorf("enqueueing a delivery: %w", err)
	case inserted.UniqueSkippedAsDuplicate && inserted.Job.FinalizedAt != nil:
		return h.retry(ctx, inserted.Job.ID)
	case inserted.UniqueSkippedAsDuplicate:
		return store.Delivery{}, ErrUnderWay
	}

	d, err := deliveryOf(inserted.Job)
	return d.recorded(), err
}

// Remove removes deliveries, except for those that are running.
func (h inTx[TTx]) Remove(
	ctx context.Context, list []store.Delivery,
) (removed, running int, err error) {
	ids := make([]int64, len(list))
	for i, d := range list {
		ids[i] = d.ID
	}

	deleted, err := h.client.JobDeleteManyTx(ctx, h.tx,
		river.NewJobDeleteManyParams().IDs(ids...).First(len(ids)))
	if err != nil {
		return 0, 0, fmt.Errorf("removing the deliveries of submissions: %w", err)
	}

	left, err := h.client.JobListTx(ctx, h.tx, river.NewJobListParams().IDs(ids...).First(len(ids)))
	if err != nil {
		return 0, 0, fmt.Errorf("looking for deliveries that are running: %w", err)
	}
	return len(deleted.Jobs), len(left.Jobs), nil
}
