package queue

import (
	"context"
	"fmt"
	"slices"

	"github.com/riverqueue/river"
)

// Hooks are how the store of a database reaches the queue within its own transactions.
type Hooks[TTx any] struct {
	queue  *Queue
	client *river.Client[TTx]
}

// Enqueue creates the deliveries of new submissions. Any process may call it.
func (h *Hooks[TTx]) Enqueue(ctx context.Context, tx TTx, submissionIDs []string) error {
	var params []river.InsertManyParams
	for _, c := range h.queue.Targets {
		if c.Off {
			continue
		}
		for _, id := range submissionIDs {
			params = append(params, river.InsertManyParams{Args: args{id}, InsertOpts: h.queue.targets[c.Name].insertOpts(id)})
		}
	}
	if len(params) == 0 {
		return nil
	}
	if _, err := h.client.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("enqueueing deliveries: %w", err)
	}
	return nil
}

// Unfinished returns those of some submissions with a delivery that is under way or has
// failed. It reads all such deliveries rather than select by tag, since those that earlier
// releases created have none.
func (h *Hooks[TTx]) Unfinished(ctx context.Context, tx TTx, submissionIDs []string) ([]string, error) {
	params := river.NewJobListParams().Kinds(args{}.Kind()).First(pageSize).
		States(jobStates(Pending, Running, Retrying, Failed)...)
	var ids []string
	for {
		page, err := h.client.JobListTx(ctx, tx, params)
		if err != nil {
			return nil, fmt.Errorf("listing unfinished deliveries: %w", err)
		}
		for _, job := range page.Jobs {
			d, err := deliveryOf(job)
			if err != nil {
				return nil, err
			}
			if slices.Contains(submissionIDs, d.SubmissionID) {
				ids = append(ids, d.SubmissionID)
			}
		}
		if len(page.Jobs) < pageSize {
			return ids, nil
		}
		params = params.After(page.LastCursor)
	}
}

// Remove removes the deliveries of submissions that are being erased. One that is running
// ends with its try.
func (h *Hooks[TTx]) Remove(ctx context.Context, tx TTx, submissionIDs []string) error {
	_, _, err := remove(submissionIDs,
		func(p *river.JobListParams) (*river.JobListResult, error) { return h.client.JobListTx(ctx, tx, p) },
		func(p *river.JobDeleteManyParams) (*river.JobDeleteManyResult, error) {
			return h.client.JobDeleteManyTx(ctx, tx, p)
		})
	return err
}
