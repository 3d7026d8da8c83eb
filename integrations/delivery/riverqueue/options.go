package riverqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/delivery"
	"siteapi/integrations/quote"
)

// Options are what a queue is built from. Load and LockDir (with SQLite) are
// required, everything else has a default.
type Options struct {
	// Load returns a stored submission, or an error that is store.ErrNotFound.
	Load func(ctx context.Context, submissionID string) (quote.Submission, error)
	// Senders bring submissions to their targets. A queue without any can list, retry
	// and resend, but not be started.
	Senders map[delivery.Target]delivery.Send
	// Limits bound what this process does to a target at a time.
	Limits map[delivery.Target]Limit
	// LockDir is a folder that all processes of this machine which work on the same
	// database share. Each holds a lock on a file there while it works; a lock nobody
	// holds is how a killed process is recognised. It is created when needed.
	LockDir string
	// ClientID names this process among all that work on the database, at most 100
	// characters of A-Z a-z 0-9 . _ -. Empty: host name, process id and random characters.
	ClientID string
	// MaxAttempts is how often a delivery is tried before it fails for good (default 300).
	// With the default back-off that takes between 9 and 14 days. Tries that a circuit or
	// a target's Retry-After caused are not counted.
	MaxAttempts int
	// CircuitFailures is how many failures in a row open a target's circuit (default 5).
	CircuitFailures int
	// Timing holds all durations.
	Timing Timing
	// Observe is called for every event, from several goroutines; it must return quickly.
	Observe func(delivery.Event)
	// Overdue is called, once per Timing.OverdueEvery, while there are deliveries under
	// way that are older than Timing.OverdueAfter.
	Overdue func(number int64, oldest time.Time)
	// Log receives the queue's own lines and River's warnings. No line holds personal data.
	Log zerolog.Logger
	// Now is the clock of circuits and pauses (default time.Now). River uses its own.
	Now func() time.Time
	// Rand returns a number in [0,1) for jitter (default math/rand/v2).
	Rand func() float64
}

// Limit bounds what one process does to a target.
type Limit struct {
	Concurrency int     // tries at a time (default 4)
	PerSecond   float64 // tries per second, 0: no limit
}

// Timing holds the durations of a queue. Zero fields take the default.
type Timing struct {
	SendTimeout  time.Duration // of one try (30 s)
	RateWait     time.Duration // longest wait for the target's rate before a try (5 s)
	Grace        time.Duration // for a Send to return after its context has ended (5 s)
	BackoffFirst time.Duration // pause after the first failed try, doubled with each (1 s)
	BackoffMax   time.Duration // longest such pause (1 h)
	CircuitFirst time.Duration // first time a circuit is open, doubled with each failed probe (5 s)
	CircuitMax   time.Duration // longest time between two probes (5 min)
	RefusedPause time.Duration // time between two tries while credentials are refused (1 h)
	AskedMax     time.Duration // longest wait that a target may ask for (24 h)
	Hold         time.Duration // how much longer than its circuit a held delivery waits if nobody releases it (10 min)
	RescueAfter  time.Duration // age at which a try nobody reports on is given up and repeated (60 s)
	Poll         time.Duration // between two looks for due deliveries (SQLite 500 ms, PostgreSQL 250 ms)
	Cooldown     time.Duration // least time between two such looks while there is work (50 ms)
	Tick         time.Duration // between two looks at the circuits (1 s)
	Upkeep       time.Duration // between two looks for stranded deliveries (5 s)
	OverdueAfter time.Duration // age at which an undelivered lead is reported (1 h)
	OverdueEvery time.Duration // between two checks for those (1 min)
	Keep         time.Duration // how long delivered ones are listed (30 days); failed ones stay
}

// pollPostgres is for the rare insert that PostgreSQL's listeners are not told of, one
// right after another.
const pollPostgres = 250 * time.Millisecond

func (t Timing) withDefaults() Timing {
	t.SendTimeout = cmp.Or(t.SendTimeout, 30*time.Second)
	t.RateWait = cmp.Or(t.RateWait, 5*time.Second)
	t.Grace = cmp.Or(t.Grace, 5*time.Second)
	t.BackoffFirst = cmp.Or(t.BackoffFirst, time.Second)
	t.BackoffMax = cmp.Or(t.BackoffMax, time.Hour)
	t.CircuitFirst = cmp.Or(t.CircuitFirst, 5*time.Second)
	t.CircuitMax = cmp.Or(t.CircuitMax, 5*time.Minute)
	t.RefusedPause = cmp.Or(t.RefusedPause, time.Hour)
	t.AskedMax = cmp.Or(t.AskedMax, 24*time.Hour)
	t.Hold = cmp.Or(t.Hold, 10*time.Minute)
	t.RescueAfter = cmp.Or(t.RescueAfter, 60*time.Second)
	t.Poll = cmp.Or(t.Poll, 500*time.Millisecond)
	t.Cooldown = cmp.Or(t.Cooldown, 50*time.Millisecond)
	t.Tick = cmp.Or(t.Tick, time.Second)
	t.Upkeep = cmp.Or(t.Upkeep, 5*time.Second)
	t.OverdueAfter = cmp.Or(t.OverdueAfter, time.Hour)
	t.OverdueEvery = cmp.Or(t.OverdueEvery, time.Minute)
	t.Keep = cmp.Or(t.Keep, 30*24*time.Hour)
	return t
}

// tryTimeout is the longest a try takes with everything around it.
func (t Timing) tryTimeout() time.Duration { return t.RateWait + t.SendTimeout + t.Grace }

func (o Options) withDefaults() Options {
	o.Timing = o.Timing.withDefaults()
	o.MaxAttempts = cmp.Or(o.MaxAttempts, 300)
	o.CircuitFailures = cmp.Or(o.CircuitFailures, 5)
	if o.Observe == nil {
		o.Observe = func(delivery.Event) {}
	}
	if o.Overdue == nil {
		o.Overdue = func(int64, time.Time) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o
}

// check reports everything that is wrong with the options.
func (o Options) check(sqlite bool) error {
	var errs []error
	if o.Load == nil {
		errs = append(errs, errors.New("the queue needs Load"))
	}
	if sqlite && o.LockDir == "" {
		errs = append(errs, errors.New("the queue needs LockDir with SQLite"))
	}
	for target, send := range o.Senders {
		if _, ok := indexOf(target); !ok || send == nil {
			errs = append(errs, fmt.Errorf("sender for %q: %w", target, delivery.ErrUnknownTarget))
		}
	}
	for target, limit := range o.Limits {
		if _, ok := indexOf(target); !ok {
			errs = append(errs, fmt.Errorf("limit for %q: %w", target, delivery.ErrUnknownTarget))
		}
		if limit.Concurrency < 0 || limit.PerSecond < 0 {
			errs = append(errs, fmt.Errorf("limit for %q is negative", target))
		}
	}
	if !isClientID(o.ClientID) {
		errs = append(errs, errors.New("ClientID has other characters than A-Z a-z 0-9 . _ -, or more than 100, or begins with a dot"))
	}
	if o.MaxAttempts < 1 || o.CircuitFailures < 1 {
		errs = append(errs, errors.New("MaxAttempts and CircuitFailures must be at least 1"))
	}
	// A shorter time would repeat tries that are still going on.
	if least := o.Timing.tryTimeout(); o.Timing.RescueAfter < least {
		errs = append(errs, fmt.Errorf("RescueAfter must be at least %v, which a try may take", least))
	}
	return errors.Join(errs...)
}

func indexOf(target delivery.Target) (int, bool) {
	for i, t := range delivery.Targets() {
		if t == target {
			return i, true
		}
	}
	return 0, false
}

// isClientID reports whether a name will do, which is a file's name too.
func isClientID(s string) bool {
	if len(s) > 100 || strings.HasPrefix(s, ".") {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}
