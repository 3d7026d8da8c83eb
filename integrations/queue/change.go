package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"golang.org/x/sync/semaphore"
)

// Receivers of changes are told at once by the process that noticed a change, and a second
// time by a job that is due after changeSettles: what they fetched in between may have come
// from an instance that was still behind. The job is what survives a restart and an outage.
// A lease in the database keeps all processes together to a receiver's window; a call tells
// of the changes that any of them noticed.
const (
	changeGather  = 200 * time.Millisecond // changes of several keys come together in it
	changeSettles = 2 * time.Second
	changeRetry   = 3 * time.Second // time from a failed call to the next one
	changeTimeout = 40 * time.Second

	windowLease   = "told:" // prefix of leases; the name of the receiver follows
	windowPoll    = 250 * time.Millisecond
	windowTimeout = time.Second // time that the database has to answer before a call

	// After giveUpKeys one call for every key replaces all jobs that wait for a receiver.
	giveUpKeys    = time.Hour
	giveUpRetry   = 30 * time.Second
	enqueueRetry  = 5 * time.Second
	changeWorkers = 4
)

// Receiver is told of changed content.
type Receiver struct {
	Name  string // names its River queue, too
	Tell  func(ctx context.Context, keys []string) error
	Every time.Duration // least time between two calls of all processes
}

// changeArgs are the arguments of a job that tells a receiver of a change.
type changeArgs struct {
	Keys []string  `json:"keys"`
	At   time.Time `json:"at"`
}

// Kind is River's name for these jobs.
func (changeArgs) Kind() string { return "content_changed" }

// receiver is the state of a receiver in this process.
type receiver struct {
	Receiver
	turn      *semaphore.Weighted // held during a call
	notBefore time.Time           // no call begins before this time; guarded by turn

	mu        sync.Mutex
	changedAt map[string]time.Time // latest change of each key
	toldAt    map[string]time.Time // start of the last successful call for each key
}

func newReceiver(r Receiver) *receiver {
	return &receiver{
		Receiver:  r,
		turn:      semaphore.NewWeighted(1),
		changedAt: map[string]time.Time{},
		toldAt:    map[string]time.Time{},
	}
}

// errTellLater is returned instead of a call for a while after another one.
var errTellLater = errors.New("the last call failed, or was made just now")

// tell makes sure that a receiver was told of keys since a time. Whatever else has changed
// goes into the same call.
func (q *Queue) tell(ctx context.Context, r *receiver, keys []string, since time.Time) error {
	if err := r.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.turn.Release(1)

	if r.told(keys, since) {
		return nil
	}
	if !q.mayCall(ctx, r) {
		return errTellLater
	}

	began := time.Now()
	others, due := q.waitingChanges(ctx, r, began)
	keys = r.withOthers(append(others, keys...))
	if err := r.Tell(ctx, keys); err != nil {
		r.notBefore = time.Now().Add(changeRetry)
		return err
	}

	q.dropChanges(ctx, r, due)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		r.toldAt[key] = began
	}
	return nil
}

// mayCall reports whether no process has called a receiver within its window, and begins
// the next one. Without the database each process has a window of its own.
func (q *Queue) mayCall(ctx context.Context, r *receiver) bool {
	if time.Now().Before(r.notBefore) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, windowTimeout)
	defer cancel()

	// Each call is a holder of its own, so that the lease cannot be renewed.
	free, err := q.Leases.TakeLease(ctx, windowLease+r.Name, rand.Text(), r.Every)
	if err == nil && !free {
		r.notBefore = time.Now().Add(windowPoll)
		return false
	}
	r.notBefore = time.Now().Add(r.Every)
	return true
}

// waitingChanges returns the keys of all jobs for a receiver, and the ids of those jobs that
// a call at a time makes unnecessary. Without the database there are none.
func (q *Queue) waitingChanges(ctx context.Context, r *receiver, at time.Time) (keys []string, due []int64) {
	ctx, cancel := context.WithTimeout(ctx, windowTimeout)
	defer cancel()

	found, err := q.client.JobList(ctx, river.NewJobListParams().
		Kinds(changeArgs{}.Kind()).
		Queues(r.Name).
		States(append(waiting(), rivertype.JobStateRunning)...).
		First(1_000))
	if err != nil {
		return nil, nil
	}

	for _, job := range found.Jobs {
		var args changeArgs
		if json.Unmarshal(job.EncodedArgs, &args) != nil {
			continue
		}
		keys = append(keys, args.Keys...)
		if args.At.Add(changeSettles).Before(at) {
			due = append(due, job.ID)
		}
	}
	return keys, due
}

// dropChanges deletes jobs that are not running. One that cannot be deleted tells once more.
func (q *Queue) dropChanges(ctx context.Context, r *receiver, ids []int64) {
	if len(ids) == 0 {
		return
	}
	_, err := q.client.JobDeleteMany(ctx, river.NewJobDeleteManyParams().
		IDs(ids...).
		States(waiting()...).
		First(len(ids)))
	if err != nil {
		q.Log.Warn().Err(err).Str("receiver", r.Name).Msg("deleting changes that a receiver was told of")
	}
}

// told reports whether a call for all these keys began after a time and succeeded.
func (r *receiver) told(keys []string, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(keys, func(key string) bool { return !r.toldAt[key].After(since) })
}

// changed records a change.
func (r *receiver) changed(keys []string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		r.changedAt[key] = at
	}
}

// withOthers returns keys with all that the receiver was not told of, sorted.
func (r *receiver) withOthers(keys []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()

	keys = slices.Clone(keys)
	for key, at := range r.changedAt {
		if !r.toldAt[key].After(at) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// ContentChanged tells the receivers that the content under some keys has changed. It
// returns when that is in the database, however long that is away, or when ctx ends.
func (q *Queue) ContentChanged(ctx context.Context, keys []string) {
	at := time.Now()
	var group sync.WaitGroup

	for _, r := range q.receivers {
		r.changed(keys, at)
		group.Go(func() { q.enqueueChange(ctx, r, changeArgs{keys, at.UTC()}) })
		go func() {
			// The job tries again if this fails.
			for wait := changeGather; pause(ctx, wait); wait = windowPoll {
				err := q.tell(ctx, r, keys, at)
				if !errors.Is(err, errTellLater) || time.Since(at) > r.Every+changeSettles {
					return
				}
			}
		}()
	}
	group.Wait()
}

// enqueueChange inserts the job for a receiver. An insertion that has begun ends after ctx.
func (q *Queue) enqueueChange(ctx context.Context, r *receiver, args changeArgs) {
	opts := &river.InsertOpts{Queue: r.Name, ScheduledAt: args.At.Add(changeSettles)}
	for {
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		_, err := q.client.Insert(try, args, opts)
		cancel()
		if err == nil {
			return
		}

		q.Log.Warn().Err(err).Str("receiver", r.Name).Msg("enqueueing a change of the content")
		if !pause(ctx, enqueueRetry) {
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

// Timeout is longer than several calls of a receiver.
func (w *changeWorker) Timeout(*river.Job[changeArgs]) time.Duration { return changeTimeout }

// Work tells a receiver of a change. A failed try is repeated without end, and not counted.
func (w *changeWorker) Work(ctx context.Context, job *river.Job[changeArgs]) error {
	i := slices.IndexFunc(w.receivers, func(r *receiver) bool { return r.Name == job.Queue })
	r, keys, retry := w.receivers[i], job.Args.Keys, changeRetry

	behind := time.Since(job.Args.At)
	if behind > giveUpKeys {
		keys, retry = w.ContentKeys, giveUpRetry
	}

	err := w.tell(ctx, r, keys, job.Args.At.Add(changeSettles))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", ctx.Err())
	case behind > giveUpKeys:
		err = errors.Join(err, w.dropOtherChanges(ctx, job))
	}

	if errors.Is(err, errTellLater) {
		return river.JobSnooze(min(retry, time.Second))
	}
	w.Log.Warn().Str("receiver", r.Name).Dur("behind_ms", behind).Str("reason", describe(err)).
		Msg("a receiver was not told of changed content")
	return river.JobSnooze(retry)
}

// dropOtherChanges deletes the jobs that wait beside one that stands for all.
func (q *Queue) dropOtherChanges(ctx context.Context, job *river.Job[changeArgs]) error {
	_, err := q.client.JobDeleteMany(ctx, river.NewJobDeleteManyParams().
		Kinds(changeArgs{}.Kind()).
		Queues(job.Queue).
		States(waiting()...).
		First(10_000))
	return err
}

// waiting returns River's states of jobs that are not done, and not running.
func waiting() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable,
		rivertype.JobStatePending,
		rivertype.JobStateRetryable,
		rivertype.JobStateScheduled,
	}
}

// Backlog says how long a receiver has waited for its oldest change.
type Backlog struct {
	Receiver string
	Oldest   time.Duration // 0: it was told of all
}

// Backlogs returns the backlog of each receiver.
func (q *Queue) Backlogs(ctx context.Context) ([]Backlog, error) {
	list := make([]Backlog, len(q.receivers))
	for i, r := range q.receivers {
		params := river.NewJobListParams().
			Kinds(changeArgs{}.Kind()).
			Queues(r.Name).
			States(append(waiting(), rivertype.JobStateRunning)...).
			OrderBy(river.JobListOrderByID, river.SortOrderAsc).
			First(1)

		found, err := q.client.JobList(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("listing changes of the content: %w", err)
		}
		list[i].Receiver = r.Name
		if len(found.Jobs) > 0 {
			list[i].Oldest = time.Since(found.Jobs[0].CreatedAt)
		}
	}
	return list, nil
}
