package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/lead"
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

// pageSize is how many jobs are read at a time.
const pageSize = 200

// List returns deliveries in the order that the filter asks for.
func (q *Queue) List(ctx context.Context, f Filter) (found []Delivery, err error) {
	size := pageSize
	if f.Limit > 0 {
		size = min(f.Limit, pageSize)
	}

	params := jobsOf().States(jobStates(f.States...)...).First(size)
	if f.ID != 0 {
		params = params.IDs(f.ID)
	}
	if len(f.Leads) > 0 {
		recorded, err := q.Records.RecordedDeliveries(ctx, store.DeliveryFilter{Leads: f.Leads})
		if err != nil || len(recorded) == 0 {
			return nil, err
		}
		params = params.IDs(idsOf(recorded)...)
	}
	if f.Newest {
		params = params.OrderBy(river.JobListOrderByID, river.SortOrderDesc)
	}
	if f.Target != "" {
		params = params.Queues(string(f.Target))
	}

	// River changes the parameters of a page, so that each page begins with those of all.
	of := params
	if f.After != 0 {
		of = params.After(cursor(f.After))
	}
	for {
		page, err := q.client.JobList(ctx, of)
		if err != nil {
			return nil, fmt.Errorf("listing deliveries: %w", q.Translate(err))
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
		of = params.After(page.LastCursor)
	}
}

// jobsOf selects the jobs that are deliveries.
func jobsOf() *river.JobListParams { return river.NewJobListParams().Kinds(args{}.Kind()) }

// cursor stands before the deliveries that come after one with an id.
func cursor(id int64) *river.JobListCursor {
	return river.JobListCursorFromJob(&rivertype.JobRow{ID: id})
}

func idsOf(list []store.Delivery) []int64 {
	ids := make([]int64, len(list))
	for i, d := range list {
		ids[i] = d.ID
	}
	return ids
}

// Off lists the targets that get no new deliveries from this process.
func (q *Queue) Off() (off []Target) {
	for _, c := range q.Targets {
		if c.Off {
			off = append(off, c.Name)
		}
	}
	return off
}

// DeliversTo reports whether this process delivers leads to a target.
func (q *Queue) DeliversTo(name Target) bool {
	t, ok := q.targets[name]
	return ok && !t.Off
}

// operations are changes of the queue in a transaction of the store.
type operations interface {
	retry(ctx context.Context, id int64) (store.Delivery, error)
	resend(ctx context.Context, leadID string, opts *river.InsertOpts) (store.Delivery, error)
}

// Retry makes a delivery due now, in whatever state it is; a delivered one is sent again.
// A delivery that is running is left alone. An unknown id, and a delivery whose lead has been
// erased, give store.ErrNotFound.
func (q *Queue) Retry(ctx context.Context, id int64) error {
	return q.Records.ChangeDelivery(ctx, func(ctx context.Context, in store.Deliveries) (store.Delivery, error) {
		return in.(operations).retry(ctx, id)
	})
}

// Resend delivers a stored lead again. It returns [ErrUnderWay] if a delivery of it
// to the target is under way, store.ErrNotFound if the lead is unknown, or
// [ErrUnknownTarget].
func (q *Queue) Resend(ctx context.Context, leadID string, name Target) error {
	if !q.DeliversTo(name) {
		return fmt.Errorf("%w %q", ErrUnknownTarget, name)
	}
	if _, err := q.Load(ctx, leadID); err != nil {
		return fmt.Errorf("reading the submission: %w", err)
	}

	opts := q.targets[name].insertOpts()
	if name.Mail() { // an earlier delivery may have been deleted, with the number of its sendings
		opts.Metadata = fmt.Appendf(nil, `{%q: {"sending": %d}}`, rivertype.MetadataKeyOutput, time.Now().Unix())
	}
	return q.Records.ChangeDelivery(ctx, func(ctx context.Context, in store.Deliveries) (store.Delivery, error) {
		return in.(operations).resend(ctx, leadID, opts)
	})
}

// Import records the deliveries that an earlier release made, as one may do at any time
// while instances are replaced one after the other.
func (q *Queue) Import(ctx context.Context) error {
	last, err := q.Records.LastImported(ctx)
	for err == nil {
		var page *river.JobListResult
		page, err = q.client.JobList(ctx, jobsOf().First(pageSize).After(cursor(last)))
		if err != nil || len(page.Jobs) == 0 {
			break
		}

		list := make([]store.Delivery, len(page.Jobs))
		for i, job := range page.Jobs {
			d, err := deliveryOf(job)
			if err != nil {
				return err
			}
			list[i], last = d.recorded(), d.ID
		}
		if err = q.Records.ImportDeliveries(ctx, list); err != nil && q.recorded(ctx, list) {
			err = nil // a full disk must not keep a command from reading
		}
	}
	if err != nil {
		return fmt.Errorf("recording the deliveries of earlier releases: %w", err)
	}
	return nil
}

// recorded reports whether all of these deliveries, in the order of their ids, are recorded.
func (q *Queue) recorded(ctx context.Context, list []store.Delivery) bool {
	found, err := q.Records.RecordedDeliveries(ctx, store.DeliveryFilter{
		After: list[0].ID - 1,
		Limit: len(list),
	})
	known := idsOf(found)
	return err == nil && !slices.ContainsFunc(list, func(d store.Delivery) bool {
		return !slices.Contains(known, d.ID)
	})
}

// Reconcile corrects what is recorded of deliveries that ended without a word from their
// worker: an earlier release's, or one whose process was killed again and again.
func (q *Queue) Reconcile(ctx context.Context) error {
	err := q.Import(ctx)
	for after := int64(0); err == nil; {
		var recorded []store.Delivery
		recorded, err = q.Records.RecordedDeliveries(ctx, store.DeliveryFilter{
			Unended: true,
			After:   after,
			Limit:   pageSize,
		})
		if err != nil || len(recorded) == 0 {
			break
		}
		after = recorded[len(recorded)-1].ID

		var page *river.JobListResult
		if page, err = q.client.JobList(ctx, jobsOf().IDs(idsOf(recorded)...).First(pageSize)); err == nil {
			err = q.correct(ctx, recorded, page.Jobs)
		}
	}
	if err != nil {
		return fmt.Errorf("comparing the deliveries with the queue: %w", err)
	}
	return nil
}

// correct records the Progress of jobs that are not running. A job that does not exist any
// more has ended.
func (q *Queue) correct(ctx context.Context, recorded []store.Delivery, jobs []*rivertype.JobRow) error {
	for _, r := range recorded {
		now := lead.Ended
		if i := slices.IndexFunc(jobs, func(j *rivertype.JobRow) bool { return j.ID == r.ID }); i >= 0 {
			d, err := deliveryOf(jobs[i])
			if err != nil {
				return err
			}
			if d.State == Running {
				continue
			}
			now = d.progress()
		}

		if now != r.Progress {
			r.Progress = now
			if err := q.Records.SaveDelivery(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
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

// Counts counts the deliveries that have not arrived, by target and state, in the order
// of [Targets] and [States]. One that is running counts as it did before.
func (q *Queue) Counts(ctx context.Context) ([]Count, error) {
	recorded, err := q.Records.CountDeliveries(ctx)
	if err != nil {
		return nil, err
	}

	var counts []Count
	for _, target := range Targets() {
		for _, state := range []State{Pending, Retrying, Failed} {
			c, of := Count{Target: target, State: state}, (&Delivery{State: state}).progress()
			for _, n := range recorded {
				if n.Target == string(target) && n.Progress == of {
					c.Number, c.Oldest = n.Number, n.Oldest
				}
			}
			counts = append(counts, c)
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
