package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/store"
)

// Filter narrows a listing. Zero fields don't narrow; an ID stands alone.
type Filter struct {
	ID          int64
	States      []State
	Target      Target
	Submissions []string
	Newest      bool  // newest first, else oldest first
	After       int64 // only what comes after the delivery of this ID
	Limit       int   // 0: all
}

// pageSize is how many jobs are read at a time, the most that River allows.
const pageSize = 10_000

// List returns deliveries in the order that the filter asks for.
func (q *Queue) List(ctx context.Context, f Filter) ([]Delivery, error) {
	if f.ID != 0 {
		job, err := q.client.JobGet(ctx, f.ID)
		if errors.Is(err, rivertype.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading delivery %d: %w", f.ID, err)
		}
		d, err := deliveryOf(job)
		return []Delivery{d}, err
	}
	params := river.NewJobListParams()
	if len(f.Submissions) > 0 {
		params = ofSubmissions(f.Submissions...)
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
	size := pageSize
	if f.Limit > 0 {
		size = min(f.Limit, pageSize)
	}
	params = params.Kinds(args{}.Kind()).States(jobStates(f.States...)...).First(size)
	var list []Delivery
	for {
		page, err := q.client.JobList(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("listing deliveries: %w", err)
		}
		for _, job := range page.Jobs {
			d, err := deliveryOf(job)
			if err != nil {
				return nil, err
			}
			if len(f.States) > 0 && !slices.Contains(f.States, d.State) {
				continue // River does not tell pending from retrying
			}
			if list = append(list, d); len(list) == f.Limit {
				return list, nil
			}
		}
		if len(page.Jobs) < size {
			return list, nil
		}
		params = params.After(page.LastCursor)
	}
}

// ofSubmissions selects the jobs of some submissions.
func ofSubmissions(ids ...string) *river.JobListParams {
	tags := make([]string, len(ids))
	for i, id := range ids {
		tags[i] = tagOf(id)
	}
	return river.NewJobListParams().TagsAny(tags...).First(pageSize)
}

// Retry makes a delivery due now, in whatever state; one that was delivered is sent again.
// One that is running is left alone. The error of an unknown one is store.ErrNotFound.
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

// Resend delivers a stored submission anew. It returns [ErrUnderWay] where that is on its
// way, store.ErrNotFound or [ErrUnknownTarget].
func (q *Queue) Resend(ctx context.Context, submissionID string, name Target) error {
	t, ok := q.targets[name]
	if !ok || t.Off {
		return fmt.Errorf("%w %q", ErrUnknownTarget, name)
	}
	if _, err := q.Load(ctx, submissionID); err != nil {
		return fmt.Errorf("reading the submission: %w", err)
	}
	inserted, err := q.client.Insert(ctx, args{submissionID}, t.insertOpts(submissionID))
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

// Withdraw removes the deliveries of a submission and returns their number. Those that are
// running are left alone and counted apart.
func (q *Queue) Withdraw(ctx context.Context, submissionID string) (removed, running int, err error) {
	return remove([]string{submissionID},
		func(p *river.JobListParams) (*river.JobListResult, error) { return q.client.JobList(ctx, p) },
		func(p *river.JobDeleteManyParams) (*river.JobDeleteManyResult, error) {
			return q.client.JobDeleteMany(ctx, p)
		})
}

// remove removes the jobs of submissions that are not running.
func remove(
	submissionIDs []string,
	list func(*river.JobListParams) (*river.JobListResult, error),
	deleteMany func(*river.JobDeleteManyParams) (*river.JobDeleteManyResult, error),
) (removed, running int, err error) {
	found, err := list(ofSubmissions(submissionIDs...))
	if err != nil {
		return 0, 0, fmt.Errorf("listing the deliveries of submissions: %w", err)
	}
	if len(found.Jobs) == 0 {
		return 0, 0, nil
	}
	var ids []int64
	for _, job := range found.Jobs {
		ids = append(ids, job.ID)
	}
	deleted, err := deleteMany(river.NewJobDeleteManyParams().IDs(ids...).First(pageSize))
	if err != nil {
		return 0, 0, fmt.Errorf("removing the deliveries of submissions: %w", err)
	}
	return len(deleted.Jobs), len(ids) - len(deleted.Jobs), nil
}

// Count is how many deliveries to a target are in a state.
type Count struct {
	Target Target
	State  State
	Number int64
	Oldest time.Time // creation of the oldest of them; zero where there are none
}

// CountMax is where counting ends: with that many under way, or failed.
const CountMax = 1000

// Counts counts the deliveries that have not arrived, by target and state, in the order of
// [Targets] and [States].
func (q *Queue) Counts(ctx context.Context) ([]Count, error) {
	var counts []Count
	for _, target := range Targets() {
		waiting, err := q.List(ctx, Filter{Target: target, States: []State{Pending, Running, Retrying}, Limit: CountMax})
		if err != nil {
			return nil, err
		}
		failed, err := q.List(ctx, Filter{Target: target, States: []State{Failed}, Limit: CountMax})
		if err != nil {
			return nil, err
		}
		for _, state := range []State{Pending, Running, Retrying, Failed} {
			c := Count{Target: target, State: state}
			for _, d := range slices.Concat(waiting, failed) {
				if d.State != state {
					continue
				}
				if c.Number++; c.Number == 1 {
					c.Oldest = d.CreatedAt
				}
			}
			counts = append(counts, c)
		}
	}
	return counts, nil
}

// Overdue counts the deliveries under way that were created before a time, up to
// [CountMax], and says when the oldest was.
func (q *Queue) Overdue(ctx context.Context, before time.Time) (number int, oldest time.Time, err error) {
	list, err := q.List(ctx, Filter{States: []State{Pending, Running, Retrying}, Limit: CountMax})
	for number < len(list) && list[number].CreatedAt.Before(before) {
		number++
	}
	if number > 0 {
		oldest = list[0].CreatedAt
	}
	return number, oldest, err
}
