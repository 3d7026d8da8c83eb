package riverqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/delivery"
	"siteapi/integrations/store"
)

// forcedNote has a delivery tried whatever its target's circuit says.
const forcedNote = `{"` + metaForced + `":true,"` + metaHeld + `":null,"` + metaEarly + `":null}`

// Retry makes one delivery due now, in whatever process works its queue. A finished
// one begins anew with a fresh count of attempts; its errors stay.
func (c *core) Retry(ctx context.Context, id int64) error {
	err := c.inTx(ctx, func(tx riverdriver.ExecutorTx) error {
		row, err := tx.JobGetByID(ctx, &riverdriver.JobGetByIDParams{ID: id})
		if errors.Is(err, rivertype.ErrNotFound) || err == nil && row.Kind != kind {
			return store.ErrNotFound
		}
		if err != nil {
			return err
		}
		switch stateOf(row) {
		case delivery.Running:
			return nil
		case delivery.Delivered, delivery.Failed:
			if err := noneUnderWay(ctx, tx, row); err != nil {
				return err
			}
			if _, err := tx.JobRetry(ctx, &riverdriver.JobRetryParams{ID: id}); err != nil {
				return err
			}
			if err := tx.Exec(ctx, "UPDATE river_job SET attempt = 0 WHERE id = "+c.arg(1), id); err != nil {
				return err
			}
		default:
			if _, err := tx.JobRetry(ctx, &riverdriver.JobRetryParams{ID: id}); err != nil {
				return err
			}
		}
		_, err = tx.JobUpdate(ctx, &riverdriver.JobUpdateParams{
			ID: id, MetadataDoMerge: true, Metadata: []byte(forcedNote),
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("retrying delivery %d: %w", id, err)
	}
	return nil
}

// noneUnderWay returns delivery.ErrUnderWay if there is another delivery of the same
// submission to the same target that isn't finished.
func noneUnderWay(ctx context.Context, tx riverdriver.ExecutorTx, row *rivertype.JobRow) error {
	var a args
	if err := json.Unmarshal(row.EncodedArgs, &a); err != nil {
		return fmt.Errorf("reading the arguments of delivery %d: %w", row.ID, err)
	}
	rows, err := tx.JobList(ctx, &riverdriver.JobListParams{
		Max:           1,
		NamedArgs:     map[string]any{"submission": a.Submission, "target": row.Queue},
		OrderByClause: "id",
		WhereClause:   bySubmission + " AND queue = @target AND " + unfinished,
	})
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return delivery.ErrUnderWay
	}
	return nil
}

// Resend creates a delivery of a stored submission anew unless one is under way, which
// the database itself sees to.
func (q *Queue[TTx]) Resend(ctx context.Context, submissionID string, target delivery.Target) error {
	if _, ok := indexOf(target); !ok {
		return fmt.Errorf("resending to %q: %w", target, delivery.ErrUnknownTarget)
	}
	if _, err := q.Load(ctx, submissionID); err != nil {
		return fmt.Errorf("resending to %q: %w", target, err)
	}
	opts := q.insertOpts(target)
	opts.Metadata = []byte(forcedNote)
	if _, err := q.client.Insert(ctx, args{Submission: submissionID}, opts); err != nil {
		return fmt.Errorf("resending to %q: %w", target, err)
	}
	return nil
}
