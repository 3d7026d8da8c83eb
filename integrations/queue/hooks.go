package queue

import (
	"context"
	"fmt"
	"slices"

	"github.com/riverqueue/river"

	"siteapi/integrations/store"
)

// inTx is the queue within a transaction of the store.
type inTx[TTx any] struct {
	queue  *Queue
	client *river.Client[TTx]
	tx     TTx
}

// Enqueue creates the deliveries of new leads. Any process may call it.
func (h inTx[TTx]) Enqueue(ctx context.Context, leadIDs []string) error {
	var list []store.Delivery
	for _, c := range h.queue.Targets {
		for _, id := range leadIDs {
			list = append(list, store.Delivery{LeadID: id, Target: string(c.Name)})
		}
	}
	return h.Restore(ctx, list)
}

// Restore creates single deliveries, except for targets that get no new ones.
func (h inTx[TTx]) Restore(ctx context.Context, list []store.Delivery) error {
	var params []river.InsertManyParams
	for _, d := range list {
		if t := h.queue.targets[Target(d.Target)]; t != nil && !t.Off {
			params = append(params, river.InsertManyParams{
				Args:       args{d.LeadID},
				InsertOpts: t.insertOpts(d.LeadID),
			})
		}
	}

	if len(params) == 0 {
		return nil
	}
	if _, err := h.client.InsertManyTx(ctx, h.tx, params); err != nil {
		return fmt.Errorf("enqueueing deliveries: %w", err)
	}
	return nil
}

// Unfinished returns the given leads with a delivery that is under way or has
// failed. It reads all such deliveries, since those of earlier releases have no tag.
func (h inTx[TTx]) Unfinished(ctx context.Context, leadIDs []string) (ids []string, err error) {
	found, err := list(ctx, h.jobs, Filter{States: []State{Pending, Running, Retrying, Failed}})
	for _, d := range found {
		if !d.Target.BestEffort() && slices.Contains(leadIDs, d.LeadID) {
			ids = append(ids, d.LeadID)
		}
	}
	return ids, err
}

// Remove removes the deliveries of leads that are being erased. A delivery that is
// running ends with its try.
func (h inTx[TTx]) Remove(ctx context.Context, leadIDs []string) error {
	found, err := list(ctx, h.jobs, Filter{Leads: leadIDs})
	if err != nil || len(found) == 0 {
		return err
	}

	var ids []int64
	for _, d := range found {
		ids = append(ids, d.ID)
	}

	if _, err := h.client.JobDeleteManyTx(ctx, h.tx,
		river.NewJobDeleteManyParams().IDs(ids...).First(pageSize)); err != nil {
		return fmt.Errorf("removing the deliveries of submissions: %w", err)
	}
	return nil
}

func (h inTx[TTx]) jobs(ctx context.Context, params *river.JobListParams) (*river.JobListResult, error) {
	return h.client.JobListTx(ctx, h.tx, params)
}
