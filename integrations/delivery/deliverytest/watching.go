package deliverytest

import (
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/upstream"
)

// testOverdue: a lead that waits too long is reported until it has arrived.
func testOverdue(t *testing.T, db Database) {
	tg := newTarget(failing(-1, trouble(upstream.Unavailable, 0)))
	var number atomic.Int64
	var oldest atomic.Pointer[time.Time]
	q := db.Open(t, Settings{Senders: only(tg), OverdueAfter: 300 * time.Millisecond, MaxAttempts: 10000,
		Overdue: func(n int64, at time.Time) { number.Store(n); oldest.Store(&at) }})
	began := time.Now()
	enqueue(t, q, "lead")
	start(t, q)
	until(t, "it is reported", func() bool { return number.Load() > 0 })
	if age := time.Since(began); age < 300*time.Millisecond {
		t.Errorf("reported after %v", age)
	}
	// One for each target: nobody works the other queue.
	if at := *oldest.Load(); number.Load() != 2 || at.Sub(began).Abs() > time.Second {
		t.Errorf("%d overdue since %v", number.Load(), at)
	}
	tg.become(nil)
	untilState(t, q, "lead", delivery.Delivered)
	number.Store(0)
	until(t, "only the other one is reported", func() bool { return number.Load() == 1 })
}

// testLookedAtOnly: a queue without senders lists and mends, but can't be started.
func testLookedAtOnly(t *testing.T, db Database) {
	q := db.Open(t, Settings{})
	enqueue(t, q, "lead")
	if err := q.Start(t.Context()); err == nil {
		t.Error("it started")
	}
	if err := q.Stop(t.Context()); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if d := the(t, q, "lead"); d.State != delivery.Pending {
		t.Errorf("%+v", d)
	} else if err := q.Retry(t.Context(), d.ID); err != nil {
		t.Error(err)
	}
}

// testEvents: an observer hears of each try, with what came of it.
func testEvents(t *testing.T, db Database) {
	tg := newTarget(failing(2, trouble(upstream.Limited, 0)))
	var seen events
	q := db.Open(t, Settings{Senders: only(tg), Observe: seen.observe})
	enqueue(t, q, "lead")
	start(t, q)
	d := untilState(t, q, "lead", delivery.Delivered)
	started, finished := seen.of(delivery.TryStarted), seen.of(delivery.TryFinished)
	if len(started) != 3 || len(finished) != 3 {
		t.Fatalf("%d started, %d finished, want 3", len(started), len(finished))
	}
	for i, e := range finished {
		want := delivery.Event{Kind: delivery.TryFinished, Target: delivery.CMS, Delivery: d.ID, Attempt: i + 1,
			Outcome: delivery.OutcomeLimited, Duration: e.Duration, Age: e.Age}
		if i == 2 {
			want.Outcome, want.Final = delivery.OutcomeDelivered, true
		}
		if e != want || e.Age <= 0 || started[i].Attempt != i+1 {
			t.Errorf("event %+v, want %+v", e, want)
		}
	}
}
