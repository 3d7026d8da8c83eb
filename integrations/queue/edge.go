package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
)

// Each change of the content has a number and two jobs for each receiver, which are in the
// database before the cache is invalidated. The first one calls as soon as that has
// happened. The second one calls later, for what was fetched in between from an instance
// that was still behind. Every call tells of all keys: one for the latest change is one for
// all changes before it.
const (
	changeSettles  = 2 * time.Second
	changeRetry    = 3 * time.Second        // time from a failed call to the next one
	changeTimeout  = time.Second            // time that the database has before a process calls by itself
	invalidateWait = 500 * time.Millisecond // time that a process has to invalidate the cache
)

// Receiver is told of changed content.
type Receiver struct {
	Name  string // names its River queue, too
	Tell  func(ctx context.Context, keys []string) error
	Every time.Duration // least time between two calls of all processes
}

// changeArgs are the arguments of a job that tells a receiver of a change.
type changeArgs struct {
	Number  int64  `json:"number"`
	Again   bool   `json:"again"`   // it is the second job
	Process string `json:"process"` // the one that invalidates the cache
}

// Kind is River's name for these jobs.
func (changeArgs) Kind() string { return "content_changed" }

// edge is the state of a process that tells receivers of changes.
type edge struct {
	process  string
	changing atomic.Int64 // changes whose invalidation has not happened yet

	// Without the database the process calls by itself, until the queue stops.
	ctx    context.Context
	stop   context.CancelFunc
	calls  sync.WaitGroup
	untold []atomic.Int64 // changes for each receiver

	away []atomic.Bool // for each receiver: the last call failed
}

func newEdge(receivers int) *edge {
	e := &edge{
		process: rand.Text(),
		untold:  make([]atomic.Int64, receivers),
		away:    make([]atomic.Bool, receivers),
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// ContentChanging has the receivers told of a change of the content that is about to happen,
// whatever becomes of this process. The caller calls changed when the cache is invalidated.
func (q *Queue) ContentChanging(ctx context.Context) (changed func()) {
	if len(q.Receivers) == 0 {
		return func() {}
	}

	q.edge.changing.Add(1)
	err := q.enqueueChange(ctx)
	return sync.OnceFunc(func() {
		q.edge.changing.Add(-1)
		if err == nil {
			return
		}

		q.Log.Warn().Err(err).Msg("receivers are told of changed content without the database")
		for i := range q.Receivers {
			if q.edge.untold[i].Add(1) == 1 {
				q.edge.calls.Go(func() { q.call(i) })
			}
		}
	})
}

// enqueueChange inserts the jobs of a change. Outside of a transaction that wakes River in
// this process.
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
				Args:       changeArgs{number, again, q.edge.process},
				InsertOpts: &river.InsertOpts{Queue: name, MaxAttempts: math.MaxInt16},
			})
		}
	}
	if _, err := q.client.InsertMany(ctx, jobs); err != nil {
		return fmt.Errorf("enqueueing a change of the content: %w", err)
	}
	return nil
}

// tell calls a receiver. The log has one line when it is away, and one when it is back.
func (q *Queue) tell(ctx context.Context, receiver int) error {
	r, away := q.Receivers[receiver], &q.edge.away[receiver]
	err := r.Tell(ctx, q.ContentKeys)

	switch was := away.Swap(err != nil); {
	case err != nil && !was:
		q.Log.Warn().Str("receiver", r.Name).Str("reason", describe(err)).
			Msg("a receiver can't be told of changed content: it is called again until it answers")
	case err == nil && was:
		q.Log.Info().Str("receiver", r.Name).Msg("the receiver is told of changed content again")
	}
	return err
}

// call tells a receiver of changes without the database, twice of the last one.
func (q *Queue) call(receiver int) {
	untold := &q.edge.untold[receiver]
	for times, known := 0, int64(0); times < 2 || !untold.CompareAndSwap(known, 0); times++ {
		if now := untold.Load(); now != known {
			times, known = 0, now
		}

		wait := max(changeSettles, q.Receivers[receiver].Every)
		if err := q.tell(q.edge.ctx, receiver); err != nil {
			times, wait = -1, changeRetry
		}
		if !pause(q.edge.ctx, wait) {
			return
		}
	}
}

// pause waits, and reports whether the context has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// changeWorker works on the jobs.
type changeWorker struct {
	river.WorkerDefaults[changeArgs]
	*Queue
}

// NextRetry returns the time of the next try of a job that lost the database, or its
// process.
func (w *changeWorker) NextRetry(*river.Job[changeArgs]) time.Time {
	return time.Now().Add(changeRetry)
}

// Work tells a receiver of a change. A failed try is repeated without end, by the jobs of the
// latest change only.
func (w *changeWorker) Work(ctx context.Context, job *river.Job[changeArgs]) error {
	receiver := slices.IndexFunc(w.Receivers, func(r Receiver) bool { return r.Name == job.Queue })
	r := w.Receivers[receiver]
	if left := changeSettles - time.Since(job.CreatedAt); job.Args.Again && left > 0 {
		return river.JobSnooze(left)
	}
	w.awaitInvalidation(ctx, job)

	told, latest, err := w.Store.ToldOf(ctx, r.Name)
	switch {
	case err != nil:
		return err
	case job.Args.Again && latest > job.Args.Number, !job.Args.Again && told >= job.Args.Number:
		return nil
	}

	latest, rest, err := w.Store.BeginCall(ctx, r.Name, r.Every)
	if err != nil {
		return err
	}
	if rest > 0 {
		return river.JobSnooze(rest)
	}
	if err := w.tell(ctx, receiver); err != nil {
		if latest > job.Args.Number {
			return nil
		}
		return river.JobSnooze(changeRetry)
	}
	return w.Store.EndCall(ctx, r.Name, latest, job.Args.Again)
}

// awaitInvalidation waits until the process that noticed a change has invalidated the cache.
// Another process does not know that, and waits as long as it may take.
func (w *changeWorker) awaitInvalidation(ctx context.Context, job *river.Job[changeArgs]) {
	until := job.CreatedAt.Add(invalidateWait)
	mine := job.Args.Process == w.edge.process
	for time.Now().Before(until) && (!mine || w.edge.changing.Load() > 0) {
		if !pause(ctx, 5*time.Millisecond) {
			return
		}
	}
}

// Backlog says how long a receiver was not told of a change.
type Backlog struct {
	Receiver string
	Oldest   time.Duration // 0: it was told of all
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
