// Package queue delivers leads to the CMS, the CRM and the site's webhook, sends the
// mails about them, and notifies receivers, such as CDNs, of changed content. Deliveries
// are River jobs in the store's database: each is inserted in the transaction of its lead
// and retried until its target accepts or rejects it. A target may receive a lead more
// than once and must be idempotent. Each target has its own River queue.
//
// The next step after an attempt depends on the [upstream.Kind] of its error, which the
// target's driver decides:
//
//   - Unavailable, for example a 503: the delivery is retried with backoff and delays no
//     others.
//   - Limited, a 429, and any failure with a Retry-After except Rejected: the target is
//     paused. Its deliveries are postponed, and the attempt does not count. A delivery
//     that is due immediately, such as an operator's retry, ignores the pause.
//   - Refused, for example a 401: the delivery is retried, after a pause of the target if
//     its driver sets one.
//   - Rejected, for example a 400 or a mail server's 550 for the recipient: the delivery
//     fails. An operator can retry it. A mail to a visitor is recorded as not sent
//     instead, and does not affect its lead.
//
// If a process is killed during an attempt, both the delivery's row and its job still
// mark the attempt as running. After [lead.Target.AttemptTime] the attempt no longer counts
// as running, and River makes the job available to any process. The next attempt skips the
// parts that have arrived; the target receives all others again, even if it has already
// accepted them. Mails are the exception: [HandOvers] limits their repetitions. EndAttempt
// stores the result of an attempt and completes its job in one transaction, so a delivery
// that has ended is not attempted again, even if its job runs again.
//
// If the clock jumps, deliveries may be early or late.
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
	// changeTime bounds the job of a content change.
	changeTime   = 25 * time.Second
	migrateTries = 20
	migratePause = 250 * time.Millisecond

	// stopTimeout bounds the time for storing the results of interrupted attempts.
	stopTimeout = 5 * time.Second

	// resultTime is the part of an attempt's time that is reserved for storing its result.
	resultTime = 20 * time.Second
)

// Options are the parameters of [New].
type Options struct {
	// Targets are the systems that each lead is delivered to.
	Targets []TargetConfig
	// Receivers are notified of changed content.
	Receivers []Receiver
	// ContentKeys are the keys of all content, passed in each notification.
	ContentKeys []string
	// RetryMax is the longest wait between two attempts, unless the target requests a
	// longer one.
	RetryMax time.Duration
	// Observe is called after every attempt.
	Observe func(target lead.Target, outcome Outcome)
	Log     zerolog.Logger
}

// TargetConfig configures the deliveries to one target.
type TargetConfig struct {
	Name       lead.Target
	Off        bool              // no deliveries are created; existing ones are still attempted
	NoMail     lead.NoMailReason // if it is off: why visitors get no mails
	MaxWorkers int               // simultaneous attempts
	PerSecond  float64           // attempts per second; 0: no limit

	// Events are delivered besides the leads. Those in Always are delivered even if the
	// target was not sent the lead itself.
	Events []lead.Event
	Always []lead.Event
}

// Handlers process the jobs of a queue.
type Handlers struct {
	Send map[lead.Target]Send // one for each target

	// OwnerMail notifies an operator of assigned leads. It omits leads that have been
	// erased or reassigned since.
	OwnerMail func(ctx context.Context, m OwnerMail) error
}

// Send delivers a lead to a target, which may have received it before. The kind of an
// *upstream.Error decides whether and when the delivery is retried; any other error is
// retried.
type Send func(ctx context.Context, t *Try) error

// Outcome is the result of an attempt: one of the following, or an [upstream.Kind].
type Outcome string

// Outcomes besides the kinds of [upstream.Error].
const (
	OutcomeDelivered   Outcome = "delivered"
	OutcomeUnexpected  Outcome = "unexpected"  // an error that is not an *upstream.Error
	OutcomeInterrupted Outcome = "interrupted" // the process stopped during the attempt
	OutcomePostponed   Outcome = "postponed"   // an *UnsentError with a time
	OutcomeNotSent     Outcome = "not_sent"    // an *UnsentError without a time
	OutcomeUnconfirmed Outcome = "unconfirmed" // an [lead.ErrUnconfirmed]
	OutcomeRejected            = Outcome(upstream.Rejected)
)

// Queue delivers leads once it is started. The state of the deliveries is in the store.
type Queue struct {
	Options
	Store     *store.Store
	targets   map[lead.Target]*target
	receivers map[string]*receiver
	client    client
	handlers  Handlers // set by Start
}

// client has the methods of [river.Client] that do not depend on its transaction type.
type client interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
	JobUpdate(ctx context.Context, id int64, params *river.JobUpdateParams) (*rivertype.JobRow, error)
	InsertMany(
		ctx context.Context, params []river.InsertManyParams,
	) ([]*rivertype.JobInsertResult, error)
}

// New returns a queue over River's driver for a database, whose pool must outlive it, with
// the store that newStore returns for the queue of its transactions. Jobs can be inserted
// once the database is connected; [Queue.Start] runs them.
func New[TDriver riverdriver.Driver[TTx], TTx any](
	driver TDriver, o Options, newStore func(store.Queue[TTx]) (*store.Store, error),
) (*Queue, error) {
	q := &Queue{
		Options:   o,
		targets:   map[lead.Target]*target{},
		receivers: map[string]*receiver{},
	}
	queues := map[string]river.QueueConfig{ownerMail: {MaxWorkers: 1}}
	for _, c := range o.Targets {
		t := newTarget(c)
		q.targets[c.Name] = t
		queues[string(c.Name)] = river.QueueConfig{MaxWorkers: t.MaxWorkers}
	}
	for _, r := range o.Receivers {
		q.receivers[r.Name] = &receiver{Receiver: r}
		queues[r.Name] = river.QueueConfig{MaxWorkers: 2}
	}

	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{Queue: q})
	river.AddWorker(workers, &changeWorker{Queue: q})
	river.AddWorker(workers, &ownerWorker{Queue: q})

	c, err := river.NewClient(driver, &river.Config{
		JobTimeout: changeTime,
		Logger:     slog.New(zerolog.NewSlogHandler(riverLog(o.Log))),
		PollOnly:   true,
		Queues:     queues,
		Workers:    workers,
		// Rebuilding an index blocks SQLite's writers, and on PostgreSQL only the owner
		// of the table can do it.
		ReindexerIndexNames: []string{},
		// A worker with a longer timeout extends this time.
		RescueStuckJobsAfter: lead.CMS.AttemptTime(),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the queue: %w", err)
	}

	q.client = c
	q.Store, err = newStore(func(tx TTx) store.Jobs { return inTx[TDriver, TTx]{o, c, tx} })
	return q, err
}

// riverLog returns a logger for River that forwards only warnings and errors, and limits
// their rate, so that a database outage does not flood the log.
func riverLog(log zerolog.Logger) zerolog.Logger {
	log = log.With().Str("component", "river").Logger()
	return log.Level(max(log.GetLevel(), zerolog.WarnLevel)).
		Sample(&zerolog.BurstSampler{Burst: 5, Period: 10 * time.Second})
}

// Migrate brings River's tables up to date. If they already are, it needs only read
// access. Concurrent migrations can conflict, so a failed one is retried.
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
	if err := q.noteTargets(ctx); err != nil {
		return err
	}
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("starting the queue: %w", err)
	}
	return nil
}

// Stop fetches no more deliveries and waits for running ones until ctx ends. Those that
// are still running then are interrupted, and retried after the next start.
func (q *Queue) Stop(ctx context.Context) error {
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
