package riverqueue

import (
	"context"
	"fmt"

	"github.com/riverqueue/river"

	"siteapi/integrations/delivery"
)

// Enqueue creates the pending deliveries of new submissions, one per target, within
// the caller's transaction and in one statement. It may be called by any process,
// whether it works deliveries off or not.
func (q *Queue[TTx]) Enqueue(ctx context.Context, tx TTx, submissionIDs []string) error {
	targets := delivery.Targets()
	params := make([]river.InsertManyParams, 0, len(submissionIDs)*len(targets))
	for _, target := range targets {
		opts := q.insertOpts(target)
		for _, id := range submissionIDs {
			params = append(params, river.InsertManyParams{Args: args{Submission: id}, InsertOpts: opts})
		}
	}
	if len(params) == 0 {
		return nil
	}
	if _, err := q.client.InsertManyFastTx(ctx, tx, params); err != nil {
		return fmt.Errorf("enqueueing deliveries: %w", err)
	}
	q.pilot.nudge(ctx)
	return nil
}
