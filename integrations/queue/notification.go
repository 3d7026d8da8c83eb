package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"siteapi/integrations/store"
)

const (
	changeSettles = 2 * time.Second // delay of the second call
	changeRetry   = 3 * time.Second // wait after a failed call
	changeTimeout = time.Second     // limit for storing a change
)

// Receiver is notified of changed content.
type Receiver struct {
	Name   string // also the name of its River queue
	Notify func(ctx context.Context, keys []string) error
	Every  time.Duration // minimum interval between calls, across all processes
}

// notifications are the calls that receivers are owed.
type notifications struct {
	calls   map[string]call
	failing sync.Map // names of receivers whose last call failed
}

// call is one of the two calls that follow each change. The second one is delayed, because
// the receiver may meanwhile have fetched content from an instance with an old cache. Each
// call passes all keys, so it covers all earlier changes.
type call struct {
	Receiver
	delay time.Duration
}

func newNotifications(receivers []Receiver) *notifications {
	n := &notifications{calls: map[string]call{}}
	for _, r := range receivers {
		n.calls[r.Name] = call{Receiver: r}
		n.calls[again(r)] = call{Receiver: r, delay: changeSettles}
	}
	return n
}

// again is the name under which the database records the second calls of a receiver.
func again(r Receiver) string { return r.Name + "_again" }

// changeArgs are the arguments of a job that notifies a receiver of a change.
type changeArgs struct {
	Number int64  `json:"number"`
	Call   string `json:"call"` // the receiver's name, or again
}

// Kind is River's name for these jobs.
func (changeArgs) Kind() string { return "content_changed" }

// ContentChanged stores that all receivers must be notified of changed content, whose
// cache entries are already invalidated. They are notified even if this process dies.
func (q *Queue) ContentChanged(ctx context.Context) error {
	if len(q.Receivers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()

	var names []string
	for _, r := range q.Receivers {
		names = append(names, r.Name, again(r))
	}
	number, err := q.Store.NextChange(ctx, names)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}

	var jobs []river.InsertManyParams
	for _, name := range names {
		jobs = append(jobs, river.InsertManyParams{
			Args:       changeArgs{number, name},
			InsertOpts: &river.InsertOpts{Queue: q.notifications.calls[name].Name, MaxAttempts: math.MaxInt16},
		})
	}
	if _, err := q.client.InsertMany(ctx, jobs); err != nil {
		return fmt.Errorf("%w: enqueueing a content change: %w", store.ErrUnavailable, err)
	}
	return nil
}

// notify calls a receiver. It logs one line when calls start to fail and one when they
// succeed again.
func (q *Queue) notify(ctx context.Context, r Receiver) error {
	err := r.Notify(ctx, q.ContentKeys)
	if err == nil {
		if _, failed := q.notifications.failing.LoadAndDelete(r.Name); failed {
			q.Log.Info().Str("receiver", r.Name).Msg("receiver available again")
		}
		return nil
	}

	if _, failed := q.notifications.failing.LoadOrStore(r.Name, true); !failed {
		q.Log.Warn().Str("receiver", r.Name).Str("reason", describe(err)).
			Msg("cannot notify a receiver of changed content, retrying until it succeeds")
	}
	return err
}

// changeWorker runs the jobs that notify receivers.
type changeWorker struct {
	river.WorkerDefaults[changeArgs]
	*Queue
}

// NextRetry returns the retry time of a job that could not reach the database or whose
// process died.
func (w *changeWorker) NextRetry(*river.Job[changeArgs]) time.Time {
	return time.Now().Add(changeRetry)
}

// Work notifies a receiver of a change. Only the jobs of the latest change retry a failed
// call, and they do so until it succeeds.
func (w *changeWorker) Work(ctx context.Context, job *river.Job[changeArgs]) error {
	name, number := job.Args.Call, job.Args.Number
	c := w.notifications.calls[name]
	if age := time.Since(job.CreatedAt); age < c.delay {
		return river.JobSnooze(c.delay - age)
	}

	notified, latest, err := w.Store.Notified(ctx, name)
	switch {
	case err != nil:
		return err
	case notified >= number, c.delay > 0 && latest > number: // the later change has its own delayed call
		return nil
	}

	latest, err = w.Store.BeginCall(ctx, c.Name, c.Every)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return river.JobSnooze(c.Every / 4)
	case err != nil:
		return err
	}

	if err := w.notify(ctx, c.Receiver); err != nil {
		if latest > number {
			return nil
		}
		return river.JobSnooze(changeRetry)
	}
	if c.delay > 0 {
		latest = number // it came too early for later changes
	}
	return w.Store.EndCall(ctx, name, latest)
}

// Backlog is how long a receiver has been behind.
type Backlog struct {
	Receiver string
	Oldest   time.Duration // 0: each was notified twice of the latest change
}

// Backlogs returns the backlog of each receiver.
func (q *Queue) Backlogs(ctx context.Context) ([]Backlog, error) {
	behind, err := q.Store.Behind(ctx)
	if err != nil {
		return nil, err
	}

	list := make([]Backlog, len(q.Receivers))
	for i, r := range q.Receivers {
		list[i] = Backlog{r.Name, max(behind[r.Name], behind[again(r)])}
	}
	return list, nil
}
