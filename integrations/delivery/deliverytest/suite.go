// Package deliverytest is the conformance suite of [delivery.Queue]: what every queue
// must do with every way a target can fail. A driver's test calls [Run] with a way to
// open queues on a fresh database.
package deliverytest

import (
	"context"
	"testing"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/quote"
)

// Settings are what a case asks of a queue. Durations are short, so that no case
// takes long: a driver passes them on instead of its defaults.
type Settings struct {
	// Senders bring submissions to their targets. Nil: the queue is only looked at.
	Senders map[delivery.Target]delivery.Send
	// Load returns a submission; nil: any id is stored.
	Load func(ctx context.Context, id string) (quote.Submission, error)

	Concurrency     int           // tries at a time, per target
	PerSecond       float64       // tries per second and target, 0: no limit
	MaxAttempts     int           // tries before a delivery fails for good
	CircuitFailures int           // failures in a row that open a circuit
	SendTimeout     time.Duration // of one try
	Grace           time.Duration // for a Send to return after its time is up
	BackoffFirst    time.Duration // pause after the first failure
	BackoffMax      time.Duration // longest pause
	CircuitPause    time.Duration // time a circuit stays open
	RefusedPause    time.Duration // time between tries while credentials are refused
	RescueAfter     time.Duration // age at which a try nobody reports on is repeated
	OverdueAfter    time.Duration // age at which an undelivered lead is reported

	Observe func(delivery.Event)
	Overdue func(number int64, oldest time.Time)
}

// WithDefaults returns settings under which a case ends quickly unless it wants otherwise.
func (s Settings) WithDefaults() Settings {
	if s.Load == nil {
		s.Load = func(_ context.Context, id string) (quote.Submission, error) {
			return quote.Submission{ID: id, Contact: quote.Contact{Email: id + "@example.org"}}, nil
		}
	}
	set := func(field *time.Duration, d time.Duration) {
		if *field == 0 {
			*field = d
		}
	}
	set(&s.SendTimeout, 5*time.Second)
	set(&s.Grace, time.Second)
	set(&s.BackoffFirst, 10*time.Millisecond)
	set(&s.BackoffMax, 50*time.Millisecond)
	set(&s.CircuitPause, 50*time.Millisecond)
	set(&s.RefusedPause, time.Hour)
	set(&s.RescueAfter, time.Minute)
	set(&s.OverdueAfter, time.Hour)
	if s.Concurrency == 0 {
		s.Concurrency = 4
	}
	if s.MaxAttempts == 0 {
		s.MaxAttempts = 20
	}
	if s.CircuitFailures == 0 {
		s.CircuitFailures = 1000 // cases of the circuit say otherwise
	}
	return s
}

// Subject is a queue under test, with what the store does to it.
type Subject interface {
	delivery.Queue
	// Enqueue creates the deliveries of submissions in a transaction, which is rolled
	// back unless commit is set.
	Enqueue(ctx context.Context, commit bool, ids ...string) error
	// Cancel removes the deliveries of a submission in a transaction.
	Cancel(ctx context.Context, id string) error
	// UnderWay returns, in a transaction, those of some submissions whose deliveries aren't finished.
	UnderWay(ctx context.Context, ids ...string) ([]string, error)
}

// Database is a fresh, migrated database.
type Database interface {
	// Open returns another queue on the database, not started, as another process would.
	Open(t *testing.T, s Settings) Subject
}

// Run runs all cases, each on a database of its own.
func Run(t *testing.T, fresh func(t *testing.T) Database) {
	t.Helper()
	cases := []struct {
		name string
		run  func(t *testing.T, db Database)
	}{
		{"enqueue", testEnqueue},
		{"rollback", testRollback},
		{"faults", func(t *testing.T, _ Database) { testFaults(t, fresh) }},
		{"redaction", testRedaction},
		{"exhausted", testExhausted},
		{"kept", testKept},
		{"erased submission", testErased},
		{"load fails", testLoadFails},
		{"retry after", testRetryAfter},
		{"long wish", testLongWish},
		{"circuit", testCircuit},
		{"circuit forgets nothing", testCircuitLateHold},
		{"refused", testRefused},
		{"targets apart", testTargetsApart},
		{"rate", testRate},
		{"two queues", testTwoQueues},
		{"other process recovers", testOtherRecovers},
		{"hears of others", testHearsOfOthers},
		{"stop", testStop},
		{"stop cancels", testStopCancels},
		{"probes", testProbes},
		{"list", testList},
		{"retry", testRetry},
		{"resend", testResend},
		{"resend at once", testResendRace},
		{"cancel", testCancel},
		{"cancel running", testCancelRunning},
		{"withdraw", testWithdraw},
		{"withdraw running", testWithdrawRunning},
		{"under way", testUnderWay},
		{"overdue", testOverdue},
		{"looked at only", testLookedAtOnly},
		{"start again", testStartAgain},
		{"events", testEvents},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, fresh(t))
		})
	}
}
