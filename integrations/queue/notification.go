package queue

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"siteapi/integrations/store"
)

const (
	changeRetry   = 3 * time.Second // wait after a failed call
	changeTimeout = time.Second     // limit for storing a change
)

// Receiver is notified of changed content. Its name is also that of its River queue. Each
// call passes all keys, so it covers all earlier changes.
type Receiver struct {
	store.Receiver
	Notify func(ctx context.Context, keys []string) error
}

// receiver is a receiver with its state in this process.
type receiver struct {
	Receiver
	failing atomic.Bool // at the last call
}

// changeArgs are the arguments of a job that notifies a receiver of a change.
type changeArgs struct {
	Number int64 `json:"number"`
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

	receivers := make([]store.Receiver, len(q.Receivers))
	for i, r := range q.Receivers {
		receivers[i] = r.Receiver
	}
	numbers, err := q.Store.NextChange(ctx, receivers)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}

	var jobs []river.InsertManyParams
	for i, r := range receivers {
		jobs = append(jobs, river.InsertManyParams{
			Args:       changeArgs{numbers[i]},
			InsertOpts: &river.InsertOpts{Queue: r.Name, MaxAttempts: math.MaxInt16},
		})
	}
	if _, err := q.client.InsertMany(ctx, jobs); err != nil {
		return fmt.Errorf("%w: enqueueing a content change: %w", store.ErrUnavailable, err)
	}
	return nil
}

// notify calls a receiver. It logs one line when calls start to fail and one when they
// succeed again.
func (q *Queue) notify(ctx context.Context, r *receiver) error {
	err := r.Notify(ctx, q.ContentKeys)
	switch failed := err != nil; {
	case r.failing.Swap(failed) == failed:
	case failed:
		q.Log.Warn().Str("receiver", r.Name).Str("reason", describe(err)).
			Msg("cannot notify a receiver of changed content, retrying until it succeeds")
	default:
		q.Log.Info().Str("receiver", r.Name).Msg("receiver available again")
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

// Work calls a receiver until no call is owed. After a call, whether it failed or not, it
// leaves further ones to the job of a later change.
func (w *changeWorker) Work(ctx context.Context, job *river.Job[changeArgs]) error {
	r := w.receivers[job.Queue]
	call, err := w.Store.BeginCall(ctx, r.Receiver.Receiver)
	switch {
	case err != nil:
		return err
	case call.Owed == 0:
		return nil
	case call.Wait > 0:
		return river.JobSnooze(call.Wait)
	}

	wait := changeRetry
	if w.notify(ctx, r) == nil {
		wait = r.Every
		if err := w.Store.EndCall(ctx, r.Name, call.Change); err != nil {
			return err
		}
	}
	if call.Change > job.Args.Number {
		return nil
	}
	return river.JobSnooze(wait)
}

// Backlog is how long a receiver has been behind.
type Backlog struct {
	Receiver string
	Oldest   time.Duration // the time that it may wait for further changes not counted; 0: it is not behind
}

// Backlogs returns the backlog of each receiver.
func (q *Queue) Backlogs(ctx context.Context) ([]Backlog, error) {
	behind, err := q.Store.Behind(ctx)
	if err != nil {
		return nil, err
	}

	list := make([]Backlog, len(q.Receivers))
	for i, r := range q.Receivers {
		list[i] = Backlog{r.Name, max(0, behind[r.Name]-r.MaxQuiet())}
	}
	return list, nil
}
