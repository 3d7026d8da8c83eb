// Package riverqueue keeps deliveries in River, in the same database as the
// submissions: PostgreSQL or SQLite. Each target has its own queue, rate and circuit.
//
// What survives what: a delivery is inserted in the transaction of its submission and
// leaves the database only when it was delivered a month ago or its submission is
// erased. A process that stops hands back what it was trying. A process that is killed
// is noticed by its lock file, or by the age of its tries where processes run on
// several machines, and what it was trying is tried again. Neither waits for River's
// leader, whose lease outlives a killed process by up to 15 seconds: every process
// makes due deliveries available by itself.
package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/rs/zerolog"

	"siteapi/integrations/delivery"
)

// Queue is a [delivery.Queue] on River. TTx is the transaction type of its driver.
type Queue[TTx any] struct {
	*core
	driver riverdriver.Driver[TTx]
	client *river.Client[TTx]
	pilot  *pilot // nil with PostgreSQL, whose listeners are told by the database

	mu      sync.Mutex
	running *running // nil while stopped
}

// running is what Start made and Stop ends.
type running struct {
	lock   *clientLock
	cancel context.CancelFunc
	upkeep sync.WaitGroup
}

// core is what doesn't depend on the transaction type.
type core struct {
	Options
	exec     riverdriver.Executor
	sqlite   bool
	mark     string // placeholder of SQL arguments: "?" or "$", followed by a number
	clientID string
	lanes    map[delivery.Target]*lane
	poke     chan struct{}
	grips    grips
}

// New builds a queue on a driver made by riversqlite or riverpgxv5. The driver's pool
// stays the caller's and must outlive the queue; one of SQLite should hold a single
// connection of its own, with _txlock=immediate, a busy_timeout and WAL.
func New[TTx any](driver riverdriver.Driver[TTx], o Options) (*Queue[TTx], error) {
	sqlite := driver.DatabaseName() == riverdriver.DatabaseNameSQLite
	if !sqlite && o.Timing.Poll == 0 {
		o.Timing.Poll = pollPostgres
	}
	o = o.withDefaults()
	if err := o.check(sqlite); err != nil {
		return nil, fmt.Errorf("checking the options of the delivery queue: %w", err)
	}
	var nudged *pilot
	if sqlite {
		nudged = &pilot{}
		driver = polling[TTx]{driver, nudged}
	}
	c := &core{
		Options:  o,
		exec:     driver.GetExecutor(),
		sqlite:   sqlite,
		mark:     driver.ArgPlaceholder(),
		clientID: o.ClientID,
		lanes:    map[delivery.Target]*lane{},
		poke:     make(chan struct{}, 1),
	}
	if c.clientID == "" {
		c.clientID = newClientID()
	}
	for target, send := range o.Senders {
		c.lanes[target] = c.newLane(target, send)
	}
	client, err := river.NewClient(driver, c.config())
	if err != nil {
		return nil, fmt.Errorf("setting up the delivery queue: %w", err)
	}
	return &Queue[TTx]{core: c, driver: driver, client: client, pilot: nudged}, nil
}

// forGood outlives every site.
const forGood = 100 * 365 * 24 * time.Hour

// config is River's configuration.
func (c *core) config() *river.Config {
	config := &river.Config{
		ID: c.clientID,
		// Failed deliveries are kept for good; whoever erases a submission removes them.
		// River's own word for that, -1, makes its SQLite driver delete them all at once.
		CancelledJobRetentionPeriod: forGood,
		DiscardedJobRetentionPeriod: forGood,
		CompletedJobRetentionPeriod: c.Timing.Keep,
		FetchCooldown:               c.Timing.Cooldown,
		FetchPollInterval:           c.Timing.Poll,
		JobTimeout:                  c.Timing.tryTimeout(),
		// Our own rescue comes long before, and knows better who is alive.
		RescueStuckJobsAfter: c.Timing.RescueAfter + time.Hour,
		Logger:               slog.New(zerolog.NewSlogHandler(riverLog(c.Log))),
	}
	if c.sqlite {
		// Rebuilding indexes would block every writer of the file, for nothing in return.
		config.ReindexerIndexNames = []string{}
	}
	if len(c.lanes) == 0 {
		return config
	}
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, &worker{core: c, next: map[int64]time.Time{}})
	config.Queues = map[string]river.QueueConfig{}
	for target, ln := range c.lanes {
		config.Queues[string(target)] = river.QueueConfig{MaxWorkers: ln.concurrency}
	}
	return config
}

// riverLog passes River's warnings on, but no flood of them while the database is away.
func riverLog(log zerolog.Logger) zerolog.Logger {
	log = log.With().Str("component", "river").Logger()
	return log.Level(max(log.GetLevel(), zerolog.WarnLevel)).
		Sample(&zerolog.BurstSampler{Burst: 5, Period: 10 * time.Second})
}

// newClientID names a process so that no other has the same name.
func newClientID() string {
	host, err := os.Hostname()
	if err != nil || len(host) > 40 {
		host = "host"
	}
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, host)
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), uuid.NewString()[:8])
}

// Start begins to work deliveries off until Stop is called; the end of ctx only ends
// the start. What a killed process left is made available first.
func (q *Queue[TTx]) Start(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lanes) == 0 {
		return errors.New("the delivery queue has no senders, it can only be looked at")
	}
	if q.running != nil {
		return errors.New("the delivery queue is running already")
	}
	run := &running{}
	if q.LockDir != "" {
		lock, err := lockClient(ctx, q.LockDir, q.clientID)
		if err != nil {
			return fmt.Errorf("starting the delivery queue: %w", err)
		}
		run.lock = lock
	}
	// Nothing of ours is running yet: what bears our name was left by a predecessor.
	if err := q.rescue(ctx, run.lock != nil); err != nil {
		return errors.Join(fmt.Errorf("starting the delivery queue: %w", err), run.lock.release())
	}
	background := context.WithoutCancel(ctx)
	if err := q.client.Start(background); err != nil {
		return errors.Join(fmt.Errorf("starting the delivery queue: %w", err), run.lock.release())
	}
	q.pilot.listen(true)
	background, run.cancel = context.WithCancel(background)
	run.upkeep.Go(func() { q.keepUp(background) })
	q.running = run
	return nil
}

// Stop fetches nothing any more and lets what is being tried finish until ctx ends.
// What is left then is cancelled and made available again, which takes a moment longer
// than ctx. It is an error only if that could not be written down; the next start, of
// any process, finds it anyhow.
func (q *Queue[TTx]) Stop(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running == nil {
		return nil
	}
	run := q.running
	q.running = nil
	q.pilot.listen(false)
	run.cancel()
	run.upkeep.Wait()
	err := q.client.Stop(ctx)
	if err != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.Timing.Grace+5*time.Second)
		defer cancel()
		err = q.client.StopAndCancel(last)
	}
	if err != nil {
		// The lock file stays, unlocked: it shows the next start what was left.
		return errors.Join(fmt.Errorf("stopping the delivery queue: %w", err), run.lock.abandon())
	}
	return run.lock.release()
}
