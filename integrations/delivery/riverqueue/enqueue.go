package riverqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

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

// Cancel removes all deliveries of a submission within the caller's transaction, for
// its erasure. One that is being tried can't be removed: it is marked, ends with that
// try, and leaves a row with nothing but the submission's id.
func (q *Queue[TTx]) Cancel(ctx context.Context, tx TTx, submissionID string) error {
	rows, err := q.driver.UnwrapExecutor(tx).JobList(ctx, &riverdriver.JobListParams{
		Max:           1000,
		NamedArgs:     map[string]any{"kind": kind, "submission": submissionID},
		OrderByClause: "id",
		WhereClause:   "kind = @kind AND " + bySubmission,
	})
	if err != nil {
		return fmt.Errorf("looking for a submission's deliveries: %w", err)
	}
	for _, row := range rows {
		_, err := q.client.JobDeleteTx(ctx, tx, row.ID)
		if errors.Is(err, rivertype.ErrJobRunning) {
			_, err = q.client.JobCancelTx(ctx, tx, row.ID)
		}
		if err != nil && !errors.Is(err, rivertype.ErrNotFound) {
			return fmt.Errorf("cancelling delivery %d: %w", row.ID, err)
		}
	}
	return nil
}
