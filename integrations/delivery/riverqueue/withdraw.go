package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// withdrawn is how many deliveries of one submission are withdrawn at a time.
const withdrawn = 1000

// Cancel removes all deliveries of a submission within the caller's transaction, for
// its erasure. One that is being tried can't be removed: it is marked, ends with that
// try, and leaves a row with nothing but the submission's id.
func (q *Queue[TTx]) Cancel(ctx context.Context, tx TTx, submissionID string) error {
	_, _, err := withdraw(ctx, q.driver.UnwrapExecutor(tx), submissionID, actions{
		remove: func(id int64) error { _, err := q.client.JobDeleteTx(ctx, tx, id); return err },
		mark:   func(id int64) error { _, err := q.client.JobCancelTx(ctx, tx, id); return err },
	})
	return err
}

// Remove removes all deliveries of some submissions within the caller's transaction.
func (q *Queue[TTx]) Remove(ctx context.Context, tx TTx, submissionIDs []string) error {
	for _, id := range submissionIDs {
		if err := q.Cancel(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// Unfinished returns those of some submissions with a delivery that has not arrived.
func (q *Queue[TTx]) Unfinished(ctx context.Context, tx TTx, submissionIDs []string) ([]string, error) {
	return q.UnderWay(ctx, tx, submissionIDs)
}

// Withdraw does the same without a transaction and reports what it did. The worker of
// this process is told at once to give up its try.
func (q *Queue[TTx]) Withdraw(ctx context.Context, submissionID string) (removed, running int, err error) {
	return withdraw(ctx, q.exec, submissionID, actions{
		remove: func(id int64) error { _, err := q.client.JobDelete(ctx, id); return err },
		mark:   func(id int64) error { _, err := q.client.JobCancel(ctx, id); return err },
	})
}

// actions are what is done to a job by its id.
type actions struct{ remove, mark func(id int64) error }

func withdraw(ctx context.Context, exec riverdriver.Executor, submissionID string, a actions) (removed, running int, err error) {
	rows, err := exec.JobList(ctx, &riverdriver.JobListParams{
		Max:           withdrawn,
		NamedArgs:     map[string]any{"kind": kind, "submission": submissionID},
		OrderByClause: "id",
		WhereClause:   "kind = @kind AND " + bySubmission,
	})
	if err != nil {
		return 0, 0, fmt.Errorf("looking for a submission's deliveries: %w", err)
	}
	for _, row := range rows {
		err := a.remove(row.ID)
		switch {
		case errors.Is(err, rivertype.ErrJobRunning):
			running++
			err = a.mark(row.ID)
		case err == nil:
			removed++
		}
		if err != nil && !errors.Is(err, rivertype.ErrNotFound) {
			return removed, running, fmt.Errorf("cancelling delivery %d: %w", row.ID, err)
		}
	}
	return removed, running, nil
}

// UnderWay returns those of some submissions with a delivery that has not arrived, as the
// caller's transaction sees them; one that failed has not. It is meant for a hundred or
// so at a time.
func (q *Queue[TTx]) UnderWay(ctx context.Context, tx TTx, submissionIDs []string) ([]string, error) {
	if len(submissionIDs) == 0 {
		return []string{}, nil
	}
	named, marks := map[string]any{"kind": kind}, make([]string, len(submissionIDs))
	for i, id := range submissionIDs {
		name := "s" + strconv.Itoa(i) + "_" // so that no name begins another
		named[name], marks[i] = id, "@"+name
	}
	rows, err := q.driver.UnwrapExecutor(tx).JobList(ctx, &riverdriver.JobListParams{
		Max:           math.MaxInt32,
		NamedArgs:     named,
		OrderByClause: "id",
		WhereClause:   "kind = @kind AND args->>'submission' IN (" + strings.Join(marks, ",") + ") AND state <> 'completed'",
	})
	if err != nil {
		return nil, fmt.Errorf("looking for deliveries under way: %w", err)
	}
	seen := map[string]bool{}
	busy := []string{}
	for _, row := range rows {
		d, err := deliveryOf(row)
		if err != nil {
			return nil, fmt.Errorf("looking for deliveries under way: %w", err)
		}
		if !seen[d.SubmissionID] {
			seen[d.SubmissionID] = true
			busy = append(busy, d.SubmissionID)
		}
	}
	return busy, nil
}
