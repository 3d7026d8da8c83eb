package deliverytest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

// testRetryAfter: a target's wish is honoured, and not one attempt is spent on wishes
// shorter than the back-off.
func testRetryAfter(t *testing.T, db Database) {
	const wish = 60 * time.Millisecond
	var calls []time.Time
	var early atomic.Bool
	tg := newTarget(func(_ context.Context, _ string, call int) error {
		if n := len(calls); n > 0 && time.Since(calls[n-1]) < wish {
			early.Store(true)
		}
		calls = append(calls, time.Now())
		if call <= 8 {
			return trouble(upstream.Limited, wish)
		}
		return nil
	})
	q := db.Open(t, Settings{Senders: only(tg), Concurrency: 1, MaxAttempts: 3, BackoffFirst: time.Hour, BackoffMax: time.Hour})
	enqueue(t, q, "patient")
	start(t, q)
	d := untilState(t, q, "patient", delivery.Delivered)
	if early.Load() || d.Attempts > 2 {
		t.Errorf("too early: %v, attempts %d, calls at %v", early.Load(), d.Attempts, calls)
	}
}

// testLongWish: during a wish the whole target is left alone, visibly.
func testLongWish(t *testing.T, db Database) {
	tg := newTarget(failing(-1, trouble(upstream.Limited, time.Hour)))
	q := db.Open(t, Settings{Senders: only(tg), Concurrency: 1})
	enqueue(t, q, "first")
	start(t, q)
	first := untilState(t, q, "first", delivery.Retrying)
	if left := time.Until(first.NextAt); left < 50*time.Minute || left > 75*time.Minute {
		t.Errorf("next try in %v, want an hour", left)
	}
	enqueue(t, q, names("more", 5)...)
	until(t, "all are held", func() bool { return heldOf(list(t, q, delivery.Filter{Target: delivery.CMS})) >= 5 })
	if calls, _ := tg.totals(); calls != 1 {
		t.Errorf("%d calls during the wish, want 1", calls)
	}
}

func heldOf(l []delivery.Delivery) int {
	n := 0
	for _, d := range l {
		if d.Held != "" && d.NextAt.After(time.Now()) {
			n++
		}
	}
	return n
}

// testCircuit: a target that is down is probed, not hammered, and a backlog drains
// promptly once it is up.
func testCircuit(t *testing.T, db Database) {
	const backlog = 60
	const failures, concurrency, pause = 3, 4, 150 * time.Millisecond
	tg := newTarget(failing(-1, trouble(upstream.Unavailable, 0)))
	var seen events
	q := db.Open(t, Settings{Senders: only(tg), CircuitFailures: failures, Concurrency: concurrency,
		CircuitPause: pause, Observe: seen.observe})
	enqueue(t, q, names("wave", backlog)...)
	start(t, q)
	began := time.Now()
	until(t, "the backlog is held", func() bool {
		return heldOf(list(t, q, delivery.Filter{Target: delivery.CMS})) >= backlog-10
	})
	if opened := seen.of(delivery.CircuitOpened); len(opened) != 1 || opened[0].Reason == "" || opened[0].Target != delivery.CMS {
		t.Errorf("circuit: %+v", opened)
	}
	before, _ := tg.totals()
	until(t, "it is probed", func() bool { calls, _ := tg.totals(); return calls > before+2 })
	// Those that opened the circuit or were under way then, and one for each pause.
	calls, _ := tg.totals()
	if most := failures + concurrency + int(time.Since(began)/pause) + 1; calls > most {
		t.Errorf("%d calls in %v, want %d at most", calls, time.Since(began), most)
	}
	for _, d := range list(t, q, delivery.Filter{Target: delivery.CMS}) {
		if d.State == delivery.Failed || d.Held != "" && !strings.Contains(d.Held, "unavailable") {
			t.Errorf("while held: %+v", d)
		}
	}
	tg.become(nil)
	began = time.Now()
	until(t, "the backlog is delivered", func() bool {
		return len(list(t, q, delivery.Filter{Target: delivery.CMS, States: []delivery.State{delivery.Delivered}})) == backlog
	})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the backlog took %v to drain", took)
	}
	if _, taken := tg.totals(); taken != backlog {
		t.Errorf("taken %d times, want %d", taken, backlog)
	}
	if closed := seen.of(delivery.CircuitClosed); len(closed) != 1 {
		t.Errorf("circuit: %+v", closed)
	}
}

// testProbes: a delivery that is brought forward to probe its target, again and again,
// doesn't spend its attempts on that.
func testProbes(t *testing.T, db Database) {
	tg := newTarget(failing(-1, trouble(upstream.Unavailable, 0)))
	q := db.Open(t, Settings{Senders: only(tg), CircuitFailures: 1, MaxAttempts: 3, CircuitPause: 30 * time.Millisecond,
		BackoffFirst: time.Hour, BackoffMax: time.Hour})
	enqueue(t, q, "lead")
	start(t, q)
	until(t, "it has probed often", func() bool { calls, _ := tg.count("lead"); return calls >= 6 })
	var d delivery.Delivery
	until(t, "it waits", func() bool { d = the(t, q, "lead"); return time.Until(d.NextAt) > time.Minute })
	if d.State != delivery.Retrying || d.Attempts > 2 || len(d.Errors) != 1 || d.Held == "" {
		t.Errorf("after many probes: %+v", d)
	}
	if left := time.Until(d.NextAt); left < 30*time.Minute || left > 80*time.Minute {
		t.Errorf("due in %v, want what is left of its hour", left)
	}
	tg.become(nil)
	untilState(t, q, "lead", delivery.Delivered)
}

// testCircuitLateHold: a delivery that is put aside at the very moment its target
// recovers is not forgotten there.
func testCircuitLateHold(t *testing.T, db Database) {
	var down atomic.Bool
	tg := newTarget(func(context.Context, string, int) error {
		if down.Load() {
			return trouble(upstream.Unavailable, 0)
		}
		return nil
	})
	q := db.Open(t, Settings{Senders: only(tg), CircuitFailures: 1, CircuitPause: 20 * time.Millisecond})
	start(t, q)
	ids := names("flap", 60)
	for i, id := range ids {
		down.Store(i%10 < 5)
		enqueue(t, q, id)
		time.Sleep(10 * time.Millisecond)
	}
	down.Store(false)
	for _, id := range ids {
		untilState(t, q, id, delivery.Delivered)
	}
}

// testRefused: refused credentials stop the noise, not the lead, and a retry by hand
// gets everything going.
func testRefused(t *testing.T, db Database) {
	tg := newTarget(failing(-1, trouble(upstream.Refused, 0)))
	q := db.Open(t, Settings{Senders: only(tg), Concurrency: 1})
	ids := names("token", 10)
	enqueue(t, q, ids...)
	start(t, q)
	until(t, "all wait", func() bool {
		return heldOf(list(t, q, delivery.Filter{Target: delivery.CMS})) == len(ids)-1
	})
	first := the(t, q, ids[0])
	if calls, _ := tg.totals(); calls != 1 || first.State != delivery.Retrying || !strings.Contains(first.Errors[0].Error, "refused") {
		t.Errorf("%d calls, first %+v", calls, first)
	}
	if left := time.Until(first.NextAt); left < 40*time.Minute {
		t.Errorf("next try in %v, want about an hour", left)
	}
	if d := the(t, q, ids[5]); d.State != delivery.Pending || !strings.Contains(d.Held, "refused") {
		t.Errorf("a held delivery shows as %+v", d)
	}
	// The wrong one first: a retry that is refused again changes nothing.
	if err := q.Retry(t.Context(), the(t, q, ids[3]).ID); err != nil {
		t.Fatal(err)
	}
	until(t, "the retry was tried", func() bool { calls, _ := tg.count(ids[3]); return calls == 1 })
	untilState(t, q, ids[3], delivery.Retrying)
	tg.become(nil)
	// An operator's command is a process of its own.
	if err := db.Open(t, Settings{}).Retry(t.Context(), the(t, q, ids[7]).ID); err != nil {
		t.Fatal(err)
	}
	untilState(t, q, ids[7], delivery.Delivered)
	for i, id := range ids {
		if i != 0 && i != 3 {
			untilState(t, q, id, delivery.Delivered)
		}
	}
}

// testTargetsApart: one target's trouble doesn't delay the other.
func testTargetsApart(t *testing.T, db Database) {
	cms := newTarget(func(ctx context.Context, _ string, _ int) error { <-ctx.Done(); return ctx.Err() })
	crm := newTarget(nil)
	q := db.Open(t, Settings{Concurrency: 2, Senders: map[delivery.Target]delivery.Send{delivery.CMS: cms.send, delivery.CRM: crm.send}})
	enqueue(t, q, names("s", 20)...)
	start(t, q)
	until(t, "the CRM has all", func() bool { _, taken := crm.totals(); return taken == 20 })
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	if err := q.Stop(stop); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// testRate: no more tries a second and at a time than the settings say.
func testRate(t *testing.T, db Database) {
	var now, most atomic.Int64
	q := db.Open(t, Settings{Concurrency: 3, PerSecond: 20, Senders: map[delivery.Target]delivery.Send{
		delivery.CMS: func(context.Context, *quote.Submission) error {
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(30 * time.Millisecond)
			now.Add(-1)
			return nil
		},
	}})
	ids := names("s", 25)
	enqueue(t, q, ids...)
	began := time.Now()
	start(t, q)
	for _, id := range ids {
		untilState(t, q, id, delivery.Delivered)
	}
	// A burst of a quarter of a second's worth goes at once.
	if took := time.Since(began); took < 950*time.Millisecond {
		t.Errorf("25 at 20 a second took %v", took)
	}
	if most.Load() > 3 {
		t.Errorf("%d at a time, want 3 at most", most.Load())
	}
}
