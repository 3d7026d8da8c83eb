package deliverytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/upstream"
)

// testTwoQueues: with two instances at work, each delivery is worked by exactly one.
func testTwoQueues(t *testing.T, db Database) {
	const leads = 200
	tg := newTarget(func(context.Context, string, int) error { time.Sleep(time.Millisecond); return nil })
	var first, second events
	a := db.Open(t, Settings{Senders: only(tg), Observe: first.observe})
	b := db.Open(t, Settings{Senders: only(tg), Observe: second.observe})
	start(t, a)
	start(t, b)
	for i, id := range names("s", leads) {
		q := a
		if i%2 == 0 {
			q = b
		}
		enqueue(t, q, id)
	}
	until(t, "all are delivered", func() bool {
		return len(list(t, a, delivery.Filter{Target: delivery.CMS, States: []delivery.State{delivery.Delivered}})) == leads
	})
	if calls, _ := tg.totals(); calls != leads {
		t.Errorf("%d tries of %d deliveries", calls, leads)
	}
	if n, m := len(first.of(delivery.TryFinished)), len(second.of(delivery.TryFinished)); n == 0 || m == 0 || n+m != leads {
		t.Errorf("one instance finished %d, the other %d", n, m)
	}
}

// testOtherRecovers: what one instance holds is delivered by another that reaches the target.
func testOtherRecovers(t *testing.T, db Database) {
	cut := newTarget(failing(-1, trouble(upstream.Unavailable, 0)))
	a := db.Open(t, Settings{Senders: only(cut), CircuitFailures: 1, CircuitPause: time.Hour})
	ids := names("s", 20)
	enqueue(t, a, ids...)
	start(t, a)
	until(t, "most are held", func() bool { return heldOf(list(t, a, delivery.Filter{Target: delivery.CMS})) >= 15 })
	fine := newTarget(nil)
	b := db.Open(t, Settings{Senders: only(fine)})
	start(t, b)
	for _, id := range ids {
		untilState(t, b, id, delivery.Delivered)
	}
	if _, taken := fine.totals(); taken != len(ids) {
		t.Errorf("taken %d, want %d", taken, len(ids))
	}
}

// testHearsOfOthers: a long pause ends early for an instance when another is seen to
// reach the target, and until it does so itself it doesn't try often.
func testHearsOfOthers(t *testing.T, db Database) {
	refused := newTarget(failing(-1, trouble(upstream.Refused, 0)))
	a := db.Open(t, Settings{Senders: only(refused), Concurrency: 1, CircuitPause: 100 * time.Millisecond})
	enqueue(t, a, "first")
	start(t, a)
	untilState(t, a, "first", delivery.Retrying)
	b := db.Open(t, Settings{Senders: only(newTarget(nil))})
	start(t, b)
	began := time.Now()
	for _, id := range names("flow", 40) {
		enqueue(t, b, id)
		time.Sleep(20 * time.Millisecond)
	}
	if calls, _ := refused.totals(); calls > 2+int(time.Since(began)/(600*time.Millisecond)) {
		t.Errorf("%d refused tries in %v", calls, time.Since(began))
	}
	// One that the first instance was refused waits until there is news that the second
	// reaches the target: should it be the last of the flow, there has to be another lead.
	next, more := time.Time{}, 0
	until(t, "the flow is delivered", func() bool {
		if time.Now().After(next) {
			more++
			enqueue(t, b, fmt.Sprint("more-", more))
			next = time.Now().Add(500 * time.Millisecond)
		}
		return !slices.ContainsFunc(names("flow", 40), func(id string) bool { return the(t, b, id).State != delivery.Delivered })
	})
	refused.become(nil)
	enqueue(t, b, "news")
	untilState(t, b, "news", delivery.Delivered)
	stop(t, b)
	enqueue(t, a, "late")
	untilState(t, a, "late", delivery.Delivered)
}

// testStop: what is being tried may finish; nothing new is begun.
func testStop(t *testing.T, db Database) {
	began, goOn := make(chan struct{}, 100), make(chan struct{})
	tg := newTarget(func(context.Context, string, int) error { began <- struct{}{}; <-goOn; return nil })
	q := db.Open(t, Settings{Senders: only(tg), Concurrency: 1})
	enqueue(t, q, "running", "waiting")
	start(t, q)
	<-began
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		stopped <- q.Stop(ctx)
	}()
	select {
	case err := <-stopped:
		t.Fatalf("stopped in the middle of a try: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(goOn)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if d := the(t, q, "running"); d.State != delivery.Delivered {
		t.Errorf("the running one is %s", d.State)
	}
	if d := the(t, q, "waiting"); d.State != delivery.Pending {
		t.Errorf("the waiting one is %s", d.State)
	}
}

// testStopCancels: what doesn't finish in time is cancelled and done after the next start.
func testStopCancels(t *testing.T, db Database) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	began := make(chan struct{}, 100)
	tg := newTarget(func(ctx context.Context, id string, call int) error {
		if call > 1 {
			return nil
		}
		began <- struct{}{}
		if id == "deaf" {
			<-forever
		}
		<-ctx.Done()
		return ctx.Err()
	})
	q := db.Open(t, Settings{Senders: only(tg), SendTimeout: time.Minute, Grace: 100 * time.Millisecond, RescueAfter: 2 * time.Minute})
	enqueue(t, q, "slow", "deaf")
	start(t, q)
	<-began
	<-began
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"slow", "deaf"} {
		if d := the(t, q, id); d.State != delivery.Pending || d.Attempts != 0 || len(d.Errors) != 0 {
			t.Errorf("after the stop: %+v", d)
		}
	}
	next := db.Open(t, Settings{Senders: only(tg)})
	start(t, next)
	untilState(t, next, "slow", delivery.Delivered)
	untilState(t, next, "deaf", delivery.Delivered)
}

// testStartAgain: a queue can be started again, but not twice.
func testStartAgain(t *testing.T, db Database) {
	tg := newTarget(nil)
	q := db.Open(t, Settings{Senders: only(tg)})
	for _, id := range []string{"one", "two"} {
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := q.Start(t.Context()); err == nil {
			t.Error("a second start succeeded")
		}
		enqueue(t, q, id)
		untilState(t, q, id, delivery.Delivered)
		if err := q.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := q.Stop(t.Context()); err != nil {
			t.Errorf("stopping what is stopped: %v", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Start(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("starting with an ended context: %v", err)
	}
}
