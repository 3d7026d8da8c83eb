package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/store"
)

// Filter narrows a listing. Zero fields don't narrow.
type Filter struct {
	ID     int64
	States []State
	Target Target
	Leads  []string
	Newest bool  // newest first, else oldest first
	After  int64 // only deliveries after the one with this ID; 0: from the first
	Limit  int   // 0: all
}

// pageSize is how many jobs are read at a time, the most that River allows.
const pageSize = 10_000

// List returns deliveries in the order that the filter asks for.
func (q *Queue) List(ctx context.Context, f Filter) ([]Delivery, error) {
	found, err := list(ctx, q.client.JobList, f)
	if err != nil || len(found) > 0 || len(f.Leads) == 0 {
		return found, err
	}

	// Deliveries created by earlier releases have no tags. Among these, only the ones
	// that have not arrived are looked for.
	leads := f.Leads
	f.Leads, f.Limit = nil, 0
	if len(f.States) == 0 {
		f.States = []State{Pending, Running, Retrying, Failed}
	}

	found, err = list(ctx, q.client.JobList, f)
	return slices.DeleteFunc(found, func(d Delivery) bool {
		return d.State == Delivered || !slices.Contains(leads, d.LeadID)
	}), err
}

// lister reads a page of jobs, within a transaction or not.
type lister func(ctx context.Context, params *river.JobListParams) (*river.JobListResult, error)

// list reads the deliveries that match a filter.
func list(ctx context.Context, jobs lister, f Filter) (found []Delivery, err error) {
	size := pageSize
	if f.Limit > 0 {
		size = min(f.Limit, pageSize)
	}

	params := river.NewJobListParams().
		Kinds(args{}.Kind()).
		States(jobStates(f.States...)...).
		First(size)
	if f.ID != 0 {
		params = params.IDs(f.ID)
	}
	if len(f.Leads) > 0 {
		params = params.TagsAny(tagsOf(f.Leads)...)
	}
	if f.Newest {
		params = params.OrderBy(river.JobListOrderByID, river.SortOrderDesc)
	}
	if f.After != 0 {
		params = params.After(river.JobListCursorFromJob(&rivertype.JobRow{ID: f.After}))
	}
	if f.Target != "" {
		params = params.Queues(string(f.Target))
	}

	for {
		page, err := jobs(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("listing deliveries: %w", err)
		}

		for _, job := range page.Jobs {
			d, err := deliveryOf(job)
			if err != nil {
				return nil, err
			}
			if len(f.States) > 0 && !slices.Contains(f.States, d.State) {
				continue // River does not tell pending from retrying.
			}
			if found = append(found, d); len(found) == f.Limit {
				return found, nil
			}
		}

		if len(page.Jobs) < size {
			return found, nil
		}
		params = params.After(page.LastCursor)
	}
}

// Retry makes a delivery due now, in whatever state it is; a delivered one is sent again.
// A delivery that is running is left alone. An unknown id gives store.ErrNotFound.
func (q *Queue) Retry(ctx context.Context, id int64) error {
	_, err := q.client.JobRetry(ctx, id)
	if errors.Is(err, rivertype.ErrNotFound) {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("retrying delivery %d: %w", id, err)
	}
	return nil
}

// Resend delivers a stored lead again. It returns [ErrUnderWay] if a delivery of it
// to the target is under way, store.ErrNotFound if the lead is unknown, or
// [ErrUnknownTarget].
func (q *Queue) Resend(ctx context.Context, leadID string, name Target) error {
	t, ok := q.targets[name]
	if !ok || t.Off {
		return fmt.Errorf("%w %q", ErrUnknownTarget, name)
	}
	if _, err := q.Load(ctx, leadID); err != nil {
		return fmt.Errorf("reading the submission: %w", err)
	}

	opts := t.insertOpts(leadID)
	if name.Mail() { // an earlier delivery may have been deleted, with the number of its sendings
		opts.Metadata = fmt.Appendf(nil, `{%q: {"sending": %d}}`, rivertype.MetadataKeyOutput, time.Now().Unix())
	}
	inserted, err := q.client.Insert(ctx, args{leadID}, opts)
	switch {
	case err != nil:
		return fmt.Errorf("enqueueing a delivery: %w", err)
	case !inserted.UniqueSkippedAsDuplicate:
		return nil
	case inserted.Job.FinalizedAt != nil:
		return q.Retry(ctx, inserted.Job.ID)
	}
	return ErrUnderWay
}

// Withdraw removes the deliveries of a lead and returns their number. Running
// deliveries are left alone; it returns their number, too.
func (q *Queue) Withdraw(ctx context.Context, leadID string) (removed, running int, err error) {
	found, err := q.List(ctx, Filter{Leads: []string{leadID}})
	if err != nil {
		return 0, 0, err
	}

	for _, d := range found {
		switch _, err := q.client.JobDelete(ctx, d.ID); {
		case errors.Is(err, rivertype.ErrJobRunning):
			running++
		case err == nil:
			removed++
		case !errors.Is(err, rivertype.ErrNotFound):
			return removed, running, fmt.Errorf("removing delivery %d: %w", d.ID, err)
		}
	}
	return removed, running, nil
}

// OverdueAge is the age from which a delivery under way is overdue.
const OverdueAge = time.Hour

// Count is the number of deliveries to a target in a state.
type Count struct {
	Target Target
	State  State
	Number int64
	Oldest time.Time // when the oldest of them was created; zero if there are none
}

// CountMax bounds the counts of deliveries under way and of failed deliveries, each.
const CountMax = 1000

// Counts counts the deliveries that have not arrived, by target and state, in the order
// of [Targets] and [States].
func (q *Queue) Counts(ctx context.Context) ([]Count, error) {
	var counts []Count
	for _, target := range Targets() {
		for _, states := range [][]State{{Pending, Running, Retrying}, {Failed}} {
			found, err := q.List(ctx, Filter{Target: target, States: states, Limit: CountMax})
			if err != nil {
				return nil, err
			}

			for _, state := range states {
				c := Count{Target: target, State: state}
				for _, d := range found {
					if d.State == state {
						c.Number++
						c.Oldest = cmp.Or(c.Oldest, d.CreatedAt)
					}
				}
				counts = append(counts, c)
			}
		}
	}
	return counts, nil
}

// ReportOverdue logs which targets have deliveries under way that are older than
// [OverdueAge].
func (q *Queue) ReportOverdue(ctx context.Context) {
	counts, err := q.Counts(ctx)
	if err != nil && ctx.Err() == nil {
		q.Log.Warn().Err(err).Msg("looking for overdue deliveries")
	}

	for _, c := range counts {
		if c.Number > 0 && c.State != Failed && !c.Target.BestEffort() && time.Since(c.Oldest) > OverdueAge {
			q.Log.Error().
				Str("target", string(c.Target)).
				Int64("waiting", c.Number).
				Time("oldest", c.Oldest).
				Msg("deliveries are overdue")
		}
	}
}
