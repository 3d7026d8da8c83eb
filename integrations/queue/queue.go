// Package queue brings leads to the CMS, the CRM and the site's webhook, sends the mails
// about them, and notifies the edge of changes. Deliveries are jobs of River in the store's
// database: each is inserted in the transaction of its lead and retried until its target
// accepts or rejects it. A target may receive a lead more than once and must be idempotent.
// Each target has a River queue of its own.
//
// What follows an attempt depends on the [upstream.Kind] of its error, which the target's
// driver decides:
//
//   - Unavailable, such as a 503: it is retried with backoff, and does not delay others.
//   - Limited, a 429, and any failure with a Retry-After: the target is paused. All
//     deliveries to it are snoozed, and the attempt does not count.
//   - Refused, such as a 401: it is retried, after a pause of the target if its driver names
//     one.
//   - Rejected, such as a 400 or a mail server's 550 for the recipient: the delivery has
//     failed, until an operator retries it. A mail to a visitor is recorded as not sent
//     instead, and decides nothing about its lead.
//
// A process that is killed in the middle of an attempt leaves a row that says when the attempt
// began, and a running job. After [store.AttemptLost] the attempt no longer counts as running,
// and River makes the job due again, in any process: BeginAttempt counts it as one more, with
// the parts that NoteArrived has stored. What the target had accepted before the kill it gets
// once more. How an attempt ended, and the end of its job, are one transaction of EndAttempt:
// a delivery that has ended is not called again, whatever becomes of its job.
//
// A clock that jumps makes deliveries early or late.
package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

const (
	// tryTimeout bounds one try, including its wait for the target's rate.
	tryTimeout   = 25 * time.Second
	migrateTries = 20
	migratePause = 250 * time.Millisecond

	// stopTimeout bounds the wait until interrupted attempts are stored.
	stopTimeout = 5 * time.Second
)

// Options are the parameters of [New].
type Options struct {
	Store Store
	// Targets are the systems that each lead is delivered to.
	Targets []TargetConfig
	// Receivers are notified of changed content.
	Receivers []Receiver
	// ContentKeys are all keys that can change.
	ContentKeys []string
	// RetryMax is the longest wait between two tries, unless the target asks for a longer
	// one.
	RetryMax time.Duration
	// Observe is called after every try. It may be nil.
	Observe func(target lead.Target, outcome Outcome)
	Log     zerolog.Logger
}

// Store is the part of the store that the queue works with.
type Store interface {
	store.Attempts
	store.Edge
	CountDeliveries(ctx context.Context) ([]store.DeliveryCount, error)
}

// TargetConfig says how leads are delivered to one target.
type TargetConfig struct {
	Name        lead.Target
	Off         string  // why it gets no new deliveries; existing ones are still tried
	MaxAttempts int     // tries until a delivery has failed; 0: enough for three days
	MaxWorkers  int     // simultaneous tries
	PerSecond   float64 // tries per second; 0: no limit
}

// Handlers do the work of a queue's jobs.
type Handlers struct {
	Send map[lead.Target]Send // one for each target

	// OwnerMail notifies an operator of leads, if there still is a reason to.
	OwnerMail func(ctx context.Context, m OwnerMail) error
}

// Send delivers a lead to a target, which may have it already. The kind of an
// *upstream.Error decides whether and when the delivery is tried again; any other error
// is tried again.
type Send func(ctx context.Context, t *Try) error

// Outcome is the result of a try: one of the following, or an [upstream.Kind].
type Outcome string

// Outcomes besides the kinds of [upstream.Error].
const (
	OutcomeDelivered   Outcome = "delivered"
	OutcomeUnexpected  Outcome = "unexpected"  // an error that is not an *upstream.Error
	OutcomeInterrupted Outcome = "interrupted" // the process ended during the try
	OutcomePostponed   Outcome = "postponed"   // an *UnsentError with a time
	OutcomeNotSent     Outcome = "not_sent"    // an *UnsentError without one
	OutcomeRejected            = Outcome(upstream.Rejected)
)

// Queue delivers leads once it is started. What becomes of the deliveries is in the store.
type Queue struct {
	Options
	targets  map[lead.Target]*target
	edge     *edge
	client   client
	handlers Handlers // given when it is started
}

// client has the methods of a [river.Client] that don't depend on the database.
type client interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
	InsertMany(
		ctx context.Context, params []river.InsertManyParams,
	) ([]*rivertype.JobInsertResult, error)
}

// New builds a queue on the driver of a database, whose pool must outlive it. It inserts and
// lists jobs; [Queue.Start] has them worked on.
func New[TTx any](driver riverdriver.Driver[TTx], o Options) (*Queue, error) {
	q := &Queue{
		Options: o,
		targets: map[lead.Target]*target{},
		edge:    newEdge(),
	}
	queues := map[string]river.QueueConfig{ownerMail: {MaxWorkers: 1}}
	for _, c := range o.Targets {
		t := newTarget(c)
		q.targets[c.Name] = t
		queues[string(c.Name)] = river.QueueConfig{MaxWorkers: t.MaxWorkers}
	}
	for _, r := range o.Receivers {
		queues[r.Name] = river.QueueConfig{MaxWorkers: 2}
	}

	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{Queue: q})
	river.AddWorker(workers, &changeWorker{Queue: q})
	river.AddWorker(workers, &ownerWorker{Queue: q})

	c, err := river.NewClient(driver, &river.Config{
		JobTimeout: tryTimeout,
		Logger:     slog.New(zerolog.NewSlogHandler(riverLog(o.Log))),
		PollOnly:   true,
		Queues:     queues,
		Workers:    workers,
		// Rebuilding an index blocks SQLite's writers, and on PostgreSQL only owners may
		// do it.
		ReindexerIndexNames:  []string{},
		RescueStuckJobsAfter: store.AttemptLost,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the queue: %w", err)
	}

	q.client = c
	return q, nil
}

// riverLog passes River's warnings on, a few at a time while the database is not
// available.
func riverLog(log zerolog.Logger) zerolog.Logger {
	log = log.With().Str("component", "river").Logger()
	return log.Level(max(log.GetLevel(), zerolog.WarnLevel)).
		Sample(&zerolog.BurstSampler{Burst: 5, Period: 10 * time.Second})
}

// Migrate brings River's tables up to date. If they are, it needs only the right to read.
// Processes that migrate at the same time disturb each other: the one that fails tries
// again.
func Migrate[TTx any](ctx context.Context, driver riverdriver.Driver[TTx], log zerolog.Logger) error {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{
		Logger: slog.New(zerolog.NewSlogHandler(riverLog(log))),
	})
	if err != nil {
		return fmt.Errorf("setting up the queue: %w", err)
	}

	for try := 1; ; try++ {
		_, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		if err == nil {
			return nil
		}

		if try == migrateTries || ctx.Err() != nil {
			return fmt.Errorf("bringing the queue's tables up to date: %w", err)
		}
		time.Sleep(migratePause)
	}
}

// Start delivers in the background until Stop is called.
func (q *Queue) Start(ctx context.Context, h Handlers) error {
	q.handlers = h
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("starting the queue: %w", err)
	}
	return nil
}

// Stop fetches no more deliveries and lets those under way finish until ctx ends. The
// others are interrupted, and tried again after the next start.
func (q *Queue) Stop(ctx context.Context) error {
	q.edge.stop()
	q.edge.calls.Wait()
	err := q.client.Stop(ctx)
	if err == nil || !errors.Is(err, ctx.Err()) {
		return err
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := q.client.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("stopping the queue: %w", err)
	}
	return nil
}
