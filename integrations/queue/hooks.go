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
// failed. It reads all of these, since deliveries of earlier releases have no tag.
func (h *Hooks[TTx]) Unfinished(ctx context.Context, tx TTx, submissionIDs []string) (ids []string, err error) {
	found, err := list(ctx, h.jobs(tx), Filter{States: []State{Pending, Running, Retrying, Failed}})
	for _, d := range found {
		if slices.Contains(submissionIDs, d.SubmissionID) {
			ids = append(ids, d.SubmissionID)
		}
	}
	return ids, err
}

// Remove removes the deliveries of submissions that are being erased. One that is running
// ends with its try.
func (h *Hooks[TTx]) Remove(ctx context.Context, tx TTx, submissionIDs []string) error {
	found, err := list(ctx, h.jobs(tx), Filter{Submissions: submissionIDs})
	if err != nil || len(found) == 0 {
		return err
	}
	var ids []int64
	for _, d := range found {
		ids = append(ids, d.ID)
	}
	if _, err := h.client.JobDeleteManyTx(ctx, tx, river.NewJobDeleteManyParams().IDs(ids...).First(pageSize)); err != nil {
		return fmt.Errorf("removing the deliveries of submissions: %w", err)
	}
	return nil
}

func (h *Hooks[TTx]) jobs(tx TTx) lister {
	return func(ctx context.Context, params *river.JobListParams) (*river.JobListResult, error) {
		return h.client.JobListTx(ctx, tx, params)
	}
}
