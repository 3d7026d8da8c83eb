package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"siteapi/integrations/store"
)

// Each content change has a number and two jobs per receiver, which are stored before the
// cache is invalidated. The first job calls the receiver after the invalidation. The
// second one calls it again later, because the receiver may meanwhile have fetched
// content from an instance with an old cache. Each call passes all keys, so it covers all
// earlier changes.
const (
	changeSettles  = 2 * time.Second
	changeRetry    = 3 * time.Second        // wait after a failed call
	changeTimeout  = time.Second            // limit for storing a change
	invalidateWait = 500 * time.Millisecond // time allowed for invalidating the cache
)

// Receiver is notified of changed content.
type Receiver struct {
	Name   string // also the name of its River queue
	Notify func(ctx context.Context, keys []string) error
	Every  time.Duration // minimum interval between calls, across all processes
}

// changeArgs are the arguments of a job that notifies a receiver of a change.
type changeArgs struct {
	Number int64 `json:"number"`
	Again  bool  `json:"again"` // marks the second job
}

// Kind is River's name for these jobs.
func (changeArgs) Kind() string { return "content_changed" }

// edge is the state of the notifications sent by this process.
type edge struct {
	ctx     context.Context // canceled when the queue stops, which ends notifications without the database
	stop    context.CancelFunc
	calls   sync.WaitGroup
	changes atomic.Int64
	failing sync.Map // names of receivers whose last call failed

	notifying sync.Map // names of receivers that are notified without the database
}

func newEdge() *edge {
	e := &edge{}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// ContentChanging stores a content change that is about to happen, so that receivers are
// notified of it even if this process dies. The caller calls changed after invalidating
// the cache. If the change could not be stored, changed notifies receivers from this
// process.
func (q *Queue) ContentChanging(ctx context.Context) (changed func()) {
	if len(q.Receivers) == 0 {
		return func() {}
	}

	err := q.enqueueChange(ctx)
	if err == nil {
		return func() {}
	}
	return sync.OnceFunc(func() {
		q.Log.Warn().Err(err).Msg("cannot store a content change, notifying receivers without the database")
		q.edge.changes.Add(1)
		for _, r := range q.Receivers {
			if _, notifying := q.edge.notifying.LoadOrStore(r.Name, true); !notifying {
				q.edge.calls.Go(func() { q.notifyOfAll(r) })
			}
		}
	})
}

// enqueueChange inserts the jobs of a change.
func (q *Queue) enqueueChange(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()

	var names []string
	for _, r := range q.Receivers {
		names = append(names, r.Name)
	}
	number, err := q.Store.NextChange(ctx, names)
	if err != nil {
		return err
	}

	var jobs []river.InsertManyParams
	for _, name := range names {
		for _, again := range []bool{false, true} {
			jobs = append(jobs, river.InsertManyParams{
				Args:       changeArgs{number, again},
				InsertOpts: &river.InsertOpts{Queue: name, MaxAttempts: math.MaxInt16},
			})
		}
	}
	if _, err := q.client.InsertMany(ctx, jobs); err != nil {
		return fmt.Errorf("enqueueing a content change: %w", err)
	}
	return nil
}

// notify calls a receiver. It logs one line when calls start to fail and one when they
// succeed again.
func (q *Queue) notify(ctx context.Context, r Receiver) error {
	err := r.Notify(ctx, q.ContentKeys)
	if err == nil {
		if _, failed := q.edge.failing.LoadAndDelete(r.Name); failed {
			q.Log.Info().Str("receiver", r.Name).Msg("receiver available again")
		}
		return nil
	}

	if _, failed := q.edge.failing.LoadOrStore(r.Name, true); !failed {
		q.Log.Warn().Str("receiver", r.Name).Str("reason", describe(err)).
			Msg("cannot notify a receiver of changed content, retrying until it succeeds")
	}
	return err
}

// notifyOfAll notifies a receiver without using the database, until the receiver has been
// notified of the latest change.
func (q *Queue) notifyOfAll(r Receiver) {
	for notifying := false; !notifying && q.edge.ctx.Err() == nil; {
		number := q.edge.changes.Load()
		q.notifyTwice(r, number)

		// A change that happens after this line starts a new notification.
		q.edge.notifying.Delete(r.Name)
		if q.edge.changes.Load() == number {
			return
		}
		_, notifying = q.edge.notifying.LoadOrStore(r.Name, true)
	}
}

// notifyTwice notifies a receiver of a change twice, unless a later one supersedes it.
func (q *Queue) notifyTwice(r Receiver, number int64) {
	for times := 0; times < 2 && q.edge.changes.Load() == number; times++ {
		wait := max(changeSettles, r.Every)
		if err := q.notify(q.edge.ctx, r); err != nil {
			times, wait = -1, changeRetry
		}
		if !pause(q.edge.ctx, wait) {
			return
		}
	}
}

// pause waits for a duration. It returns false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
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
	change := job.Args
	r := w.Receivers[slices.IndexFunc(w.Receivers, func(r Receiver) bool { return r.Name == job.Queue })]
	age := time.Since(job.CreatedAt)
	if change.Again && age < changeSettles {
		return river.JobSnooze(changeSettles - age)
	}
	pause(ctx, invalidateWait-age)

	notified, latest, err := w.Store.Notified(ctx, r.Name)
	switch {
	case err != nil:
		return err
	case change.Again && latest > change.Number, !change.Again && notified >= change.Number:
		return nil
	case change.Again && notified < change.Number: // The first call has not succeeded yet.
		return river.JobSnooze(changeSettles)
	}

	latest, err = w.Store.BeginCall(ctx, r.Name, r.Every)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return river.JobSnooze(r.Every / 4)
	case err != nil:
		return err
	}

	if latest > change.Number {
		// The cache may not have been invalidated for the latest change yet.
		pause(ctx, invalidateWait)
	}
	if err := w.notify(ctx, r); err != nil {
		if latest > change.Number {
			return nil
		}
		return river.JobSnooze(changeRetry)
	}

	// A later change that this call covers has its own second call.
	return w.Store.EndCall(ctx, r.Name, latest, change.Again && latest == change.Number)
}

// Backlog is how long a receiver has been behind.
type Backlog struct {
	Receiver string
	Oldest   time.Duration // 0: notified twice of the latest change
}

// Backlogs returns the backlog of each receiver.
func (q *Queue) Backlogs(ctx context.Context) ([]Backlog, error) {
	behind, err := q.Store.Behind(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Backlog, len(q.Receivers))
	for i, r := range q.Receivers {
		list[i] = Backlog{r.Name, behind[r.Name]}
	}
	return list, nil
}
