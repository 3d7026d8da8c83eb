package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
)

func failure(kind upstream.Kind) *upstream.Error {
	return &upstream.Error{System: "fake", Op: "storing", Kind: kind, Status: 500}
}

// Two processes deliver each lead once to each target.
func TestTwoProcesses(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db database) {
		cms, crm := newFake(accept), newFake(accept)
		o := options(cms.send)
		o.deliver(crm.send, queue.TargetConfig{Name: lead.CRM, MaxWorkers: 1})
		first, second := db(t, o), db(t, o)
		first.add(t, ids(40)...)
		first.start(t)
		second.start(t)

		for _, id := range ids(40) {
			d := first.waitFor(t, id, lead.Delivered)
			if d.Attempts != 1 || d.FinishedAt.IsZero() || !d.NextAt.IsZero() || len(d.Errors) != 0 {
				t.Errorf("delivered: %+v", d)
			}
			first.waitForTarget(t, id, lead.CRM, lead.Delivered)
			if inCMS, inCRM := cms.count(id), crm.count(id); inCMS != 1 || inCRM != 1 {
				t.Errorf("%s was sent %d and %d times", id, inCMS, inCRM)
			}
		}
	})
}

// An instance whose settings lack a target leaves its deliveries to the one that started last,
// and ends them if that one lacks it as well.
func TestTargetOfAnotherInstance(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db database) {
		cms, webhook := newFake(accept), newFake(accept)
		rejects := newFake(func(context.Context, string, int) error { return failure(upstream.Rejected) })
		former, current := options(cms.send), options(cms.send)
		former.deliver(rejects.send, queue.TargetConfig{Name: lead.Webhook, MaxWorkers: 4, Off: true})
		current.deliver(webhook.send, queue.TargetConfig{Name: lead.Webhook, MaxWorkers: 1})

		first, second := db(t, former), db(t, current)
		first.start(t)
		second.start(t)
		second.add(t, ids(20)...)
		for _, id := range ids(20) {
			second.waitForTarget(t, id, lead.Webhook, lead.Delivered)
		}
		if calls, _ := rejects.total(); calls != 0 {
			t.Errorf("the instance without the target ended %d deliveries", calls)
		}

		second.stop(t, time.Minute)
		third := db(t, former)
		third.start(t)
		second.add(t, "late")
		third.waitForTarget(t, "late", lead.Webhook, lead.Failed)
	})
}

// Transient failures are retried, a rejection fails at once, and no stored error contains
// personal data.
func TestFaults(t *testing.T) {
	t.Parallel()
	const secret = "ana@example.org"
	rejection := &upstream.Error{System: "crm", Op: "storing", Kind: upstream.Rejected, Detail: "no\x00such\xffthing " + secret}
	faults := map[string]struct {
		err     error
		outcome queue.Outcome
		text    string // beginning of the first error
	}{
		"unavailable": {failure(upstream.Unavailable), "unavailable", "fake: storing: unavailable (HTTP 500)"},
		"refused":     {failure(upstream.Refused), "refused", "fake: storing: refused"},
		"foreign":     {errors.New(secret), queue.OutcomeUnexpected, "unexpected error of type *errors.errorString"},
		"panic":       {nil, queue.OutcomeUnexpected, "panic"},
		"late":        {context.DeadlineExceeded, queue.OutcomeUnexpected, "context deadline exceeded"},
		"rejected":    {fmt.Errorf("of %s: %w", secret, rejection), queue.OutcomeRejected, "crm: storing: rejected: no such thing [e-mail]"},
	}

	tg := newFake(func(_ context.Context, id string, call int) error {
		if call > 1 {
			return nil
		}
		if id == "panic" {
			panic(secret)
		}
		return faults[id].err
	})

	var mu sync.Mutex
	observed := map[queue.Outcome]int{}
	o := options(tg.send)
	o.Observe = func(_ lead.Target, outcome queue.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		observed[outcome]++
	}

	q := onSQLite(t)(t, o)
	want := map[queue.Outcome]int{queue.OutcomeDelivered: len(faults) - 1}
	for id, f := range faults {
		q.add(t, id)
		want[f.outcome]++
	}
	q.start(t)

	for id, f := range faults {
		state := lead.Delivered
		if f.outcome == queue.OutcomeRejected {
			state = lead.Failed
		}
		d := q.waitFor(t, id, state)
		if len(d.Errors) != 1 || !strings.HasPrefix(d.Errors[0].Error, f.text) ||
			strings.Contains(d.Errors[0].Error, secret) {
			t.Errorf("%s: the stored errors are %+v", id, d.Errors)
		}
	}

	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(observed) != fmt.Sprint(want) {
		t.Errorf("observed %v, want %v", observed, want)
	}
}

// An unavailable target or receiver is logged as one warning, however many leads wait or
// tries fail, and as one line when it is available again.
func TestOutagesAreLoggedOnce(t *testing.T) {
	t.Parallel()
	down, log := &cdn{down: true}, &bytes.Buffer{}
	tg := newFake(func(context.Context, string, int) error { return failure(upstream.Unavailable) })
	o := notifying(map[string]*cdn{"edge_down": down}, time.Millisecond)
	o.deliver(tg.send, queue.TargetConfig{Name: lead.CMS, MaxWorkers: 1})
	o.Log = zerolog.New(zerolog.SyncWriter(log)).Level(zerolog.InfoLevel)

	q := onSQLite(t)(t, o)
	q.add(t, ids(5)...)
	q.start(t)
	q.change(t)
	eventually(t, "all are tried more than once", func() bool {
		calls, _ := tg.total()
		notified, _ := down.count()
		return calls > 12 && notified > 1
	})

	tg.recover()
	down.setDown(false)
	for _, id := range ids(5) {
		q.waitFor(t, id, lead.Delivered)
	}
	eventually(t, "the receiver is notified", func() bool { return !q.behind(t, "edge_down") })
	q.stop(t, time.Minute)

	for _, line := range []string{
		"target unavailable", "target available again", "cannot notify a receiver", "receiver available again",
	} {
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("%q is logged %d times:\n%s", line, n, log)
		}
	}
}

// A lead that always fails does not delay others. Its delivery fails after its maximum
// number of tries and lists its last errors. An operator may then retry it.
func TestPoisonedLead(t *testing.T) {
	t.Parallel()
	tg := newFake(func(_ context.Context, id string, _ int) error {
		if id == "lead-000" {
			return failure(upstream.Unavailable)
		}
		return nil
	})

	q := onSQLite(t)(t, options(tg.send))
	q.add(t, ids(50)...)
	q.allow(t, 22)
	q.start(t)

	eventually(t, "all others arrive", func() bool { _, accepted := tg.total(); return accepted == 49 })
	d := q.waitFor(t, "lead-000", lead.Failed)
	if calls := tg.count("lead-000"); calls != 22 || d.Attempts != 22 || len(d.Errors) != 20 || d.Errors[19].Number != 22 {
		t.Errorf("%d calls: %+v", calls, d)
	}

	tg.recover()
	must(t, q.Store.RetryDelivery(t.Context(), d.ID))
	q.waitFor(t, "lead-000", lead.Delivered)
}

// With several deliveries running, the longest requested pause applies. The success of a
// delivery that began before the pause does not end it.
func TestConcurrentRetryAfter(t *testing.T) {
	t.Parallel()
	results := map[string]chan error{}
	tg := newFake(func(_ context.Context, id string, call int) error {
		if call > 1 || results[id] == nil {
			return nil
		}
		return <-results[id]
	})
	q := onSQLite(t)(t, options(tg.send))
	for _, id := range []string{"long", "short", "accepted"} {
		results[id] = make(chan error)
		q.add(t, id)
	}
	q.start(t)
	eventually(t, "all are under way", func() bool { calls, _ := tg.total(); return calls == len(results) })

	for i, id := range []string{"long", "short"} {
		asked := failure(upstream.Limited)
		asked.RetryAfter = []time.Duration{time.Hour, time.Millisecond}[i]
		results[id] <- asked
		eventually(t, id+" is paused", func() bool { return q.delivery(t, id, lead.CMS).Paused != "" })
	}
	results["accepted"] <- nil
	q.waitFor(t, "accepted", lead.Delivered)

	q.add(t, "later")
	eventually(t, "the next one is paused or delivered", func() bool {
		d := q.delivery(t, "later", lead.CMS)
		return d.Paused != "" || d.State == lead.Delivered
	})
	if calls, _ := tg.total(); calls != len(results) {
		t.Errorf("during the pause it was called %d times", calls-len(results))
	}
}

// A pause set by a driver, here because the target refuses the token, is bounded by
// RetryMax, and an operator's retry ends it early.
func TestRetryDuringPause(t *testing.T) {
	t.Parallel()
	refused := failure(upstream.Refused)
	refused.Pause = 24 * time.Hour
	tg := newFake(func(context.Context, string, int) error { return refused })
	o := options(tg.send)
	o.RetryMax = time.Minute
	q := onSQLite(t)(t, o)
	q.start(t)

	for _, id := range []string{"first", "second"} {
		q.add(t, id)
		eventually(t, id+" is paused", func() bool { return q.delivery(t, id, lead.CMS).Paused != "" })
	}
	if d := q.delivery(t, "first", lead.CMS); time.Until(d.NextAt) > 75*time.Second {
		t.Errorf("paused for %v", time.Until(d.NextAt))
	}
	if calls := tg.count("second"); calls != 0 {
		t.Errorf("it was called %d times during its pause", calls)
	}

	tg.recover()
	must(t, q.Store.RetryDelivery(t.Context(), q.delivery(t, "second", lead.CMS).ID))
	q.waitFor(t, "second", lead.Delivered)
	q.add(t, "third")
	q.waitFor(t, "third", lead.Delivered)
}

// Repeated retries of waiting deliveries leave their jobs where they are in the queue, so they
// don't keep them from arriving.
func TestRepeatedRetries(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db database) {
		q := db(t, options(newFake(func(context.Context, string, int) error { return nil }).send))
		q.add(t, "lead")
		d := q.delivery(t, "lead", lead.CMS)
		for range 3 {
			must(t, q.Store.RetryDelivery(t.Context(), d.ID))
			if again := q.delivery(t, "lead", lead.CMS); again.Job != d.Job {
				t.Fatalf("the job %d became %d", d.Job, again.Job)
			}
		}
		q.start(t)
		q.waitFor(t, "lead", lead.Delivered)
	})
}

// A target is called no faster than its rate, and by no more than its number of workers
// at a time.
func TestPace(t *testing.T) {
	t.Parallel()
	var running, peak atomic.Int64
	tg := newFake(func(context.Context, string, int) error {
		peak.Store(max(peak.Load(), running.Add(1)))
		time.Sleep(20 * time.Millisecond)
		running.Add(-1)
		return nil
	})

	o := options(tg.send)
	o.Targets[0].PerSecond, o.Targets[0].MaxWorkers = 10, 2
	q := onSQLite(t)(t, o)
	q.add(t, ids(16)...)
	q.start(t)

	eventually(t, "all arrive", func() bool { _, accepted := tg.total(); return accepted == 16 })
	if took := tg.times[15].Sub(tg.times[0]); took < 1200*time.Millisecond || peak.Load() > 2 {
		t.Errorf("16 deliveries took %v, %d at a time", took, peak.Load())
	}
}

// A delivery that is interrupted by a stop is tried again after the next start, and the
// interrupted try does not count. Parts that had arrived are not repeated.
func TestStop(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db database) {
		sent := make(chan struct{})
		q := db(t, options(func(ctx context.Context, try *queue.Try) error {
			if try.Arrived("a") {
				t.Error("the part has already arrived")
			}
			if err := try.Arrive(ctx, "a"); err != nil {
				t.Error(err)
			}
			close(sent)
			<-ctx.Done()
			return ctx.Err()
		}))
		must(t, q.Start(t.Context(), queue.Handlers{Send: q.send}))
		q.add(t, "lead")
		<-sent

		q.stop(t, 100*time.Millisecond)
		if d := q.delivery(t, "lead", lead.CMS); d.State != lead.Pending || len(d.Errors) != 0 {
			t.Errorf("after the stop: %+v", d)
		}

		again := db(t, options(func(_ context.Context, try *queue.Try) error {
			if !try.Arrived("a") || try.Arrived("b") {
				t.Error("the arrived parts are not stored")
			}
			return nil
		}))
		again.start(t)
		if d := again.waitFor(t, "lead", lead.Delivered); d.Attempts != 1 {
			t.Errorf("the interrupted try was counted: %+v", d)
		}
	})
}
