package riverqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/delivery"
)

// bySubmission is the SQL condition of a submission's deliveries; Migrate makes an
// index for it.
const bySubmission = "args->>'submission' = @submission"

// List returns deliveries, oldest first. The end of a try shows up to a quarter of a
// second after it: River writes the ends of several down together.
func (c *core) List(ctx context.Context, f delivery.Filter) ([]delivery.Delivery, error) {
	where := []string{"kind = @kind"}
	named := map[string]any{"kind": kind}
	if len(f.States) > 0 {
		var states []string
		for _, s := range f.States {
			states = append(states, inState(s))
		}
		where = append(where, "("+strings.Join(states, " OR ")+")")
	}
	if f.ID != 0 {
		where = append(where, "id = @id")
		named["id"] = f.ID
	}
	if f.Target != "" {
		where = append(where, "queue = @target")
		named["target"] = string(f.Target)
	}
	if f.SubmissionID != "" {
		where = append(where, bySubmission)
		named["submission"] = f.SubmissionID
	}
	limit := int32(math.MaxInt32)
	if f.Limit > 0 {
		limit = int32(min(f.Limit, math.MaxInt32))
	}
	rows, err := c.exec.JobList(ctx, &riverdriver.JobListParams{
		Max: limit, NamedArgs: named, OrderByClause: "id", WhereClause: strings.Join(where, " AND "),
	})
	if err != nil {
		return nil, fmt.Errorf("listing deliveries: %w", err)
	}
	list := make([]delivery.Delivery, 0, len(rows))
	for _, row := range rows {
		d, err := deliveryOf(row)
		if err != nil {
			return nil, fmt.Errorf("listing deliveries: %w", err)
		}
		list = append(list, d)
	}
	return list, nil
}

// deliveryOf translates a job.
func deliveryOf(row *rivertype.JobRow) (delivery.Delivery, error) {
	var a args
	if err := json.Unmarshal(row.EncodedArgs, &a); err != nil {
		return delivery.Delivery{}, fmt.Errorf("reading the arguments of delivery %d: %w", row.ID, err)
	}
	m, err := metaOf(row)
	if err != nil {
		return delivery.Delivery{}, err
	}
	d := delivery.Delivery{
		ID: row.ID, SubmissionID: a.Submission, Target: delivery.Target(row.Queue),
		State: stateOf(row), Attempts: row.Attempt, CreatedAt: row.CreatedAt.UTC(),
	}
	for _, e := range row.Errors {
		d.Errors = append(d.Errors, delivery.Attempt{
			Number: e.Attempt, At: e.At.UTC(), Error: strings.TrimPrefix(e.Error, "JobCancelError: "),
		})
	}
	if row.FinalizedAt != nil {
		d.FinishedAt = row.FinalizedAt.UTC()
	}
	if d.State == delivery.Pending || d.State == delivery.Retrying {
		d.NextAt = row.ScheduledAt.UTC()
		if row.ScheduledAt.After(time.Now()) {
			d.Held = m.Held
		}
	}
	return d, nil
}

// Counts returns the numbers of deliveries by target and state.
func (c *core) Counts(ctx context.Context) ([]delivery.Count, error) {
	var counts []delivery.Count
	for _, target := range delivery.Targets() {
		for _, state := range delivery.States() {
			where := fmt.Sprintf("queue = %s AND %s", c.arg(1), inState(state))
			n, oldest, err := c.count(ctx, where, string(target))
			if err != nil {
				return nil, fmt.Errorf("counting deliveries: %w", err)
			}
			if state == delivery.Delivered {
				oldest = time.Time{}
			}
			counts = append(counts, delivery.Count{Target: target, State: state, Number: n, Oldest: oldest})
		}
	}
	return counts, nil
}

// count returns how many jobs a condition holds for, and when the first of them was
// made. Ids grow with time, so that the index alone answers.
func (c *core) count(ctx context.Context, where string, args ...any) (n int64, oldest time.Time, err error) {
	var first *int64
	row := c.exec.QueryRow(ctx, "SELECT count(*), min(id) FROM river_job WHERE "+where, args...)
	if err := row.Scan(&n, &first); err != nil {
		return 0, time.Time{}, fmt.Errorf("counting deliveries: %w", err)
	}
	if first == nil {
		return n, time.Time{}, nil
	}
	rows, err := c.exec.JobGetByIDMany(ctx, &riverdriver.JobGetByIDManyParams{ID: []int64{*first}})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("reading the oldest delivery: %w", err)
	}
	if len(rows) > 0 {
		oldest = rows[0].CreatedAt.UTC()
	}
	return n, oldest, nil
}
