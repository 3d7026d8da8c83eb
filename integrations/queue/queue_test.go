package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

func trouble(kind upstream.Kind) *upstream.Error {
	return &upstream.Error{System: "fake", Op: "storing", Kind: kind, Status: 500}
}

// times fails the first n calls of each lead.
func times(n int, err error) func(context.Context, string, int) error {
	return func(_ context.Context, _ string, call int) error {
		if call <= n {
			return err
		}
		return nil
	}
}

const always = 1 << 30

// One transaction creates the deliveries of leads, or none. The first try follows
// soon: PostgreSQL is polled for new deliveries once a second.
func TestEnqueue(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		cms, crm := newFake(nil), newFake(nil)
		o := options(func(ctx context.Context, s *queue.Try) error {
			if d, ok := ctx.Deadline(); !ok || time.Until(d) > 25*time.Second ||
				s.Contact.Email != s.ID+"@example.org" {
				t.Errorf("sent %+v with a deadline in %v", s, time.Until(d))
			}
			return cms.send(ctx, s)
		})
		o.Targets = append(o.Targets, queue.TargetConfig{
			Name:        queue.CRM,
			Send:        crm.send,
			MaxAttempts: 1,
			MaxWorkers:  1,
		})
		q := db(t, o)

		q.start(t)
		if err := q.enqueue(false, "never"); err != nil {
			t.Fatal(err)
		}
		q.add(t, ids(20)...)

		for _, id := range ids(20) {
			d := q.becomes(t, id, queue.Delivered)
			if d.Attempts != 1 || d.FinishedAt.IsZero() || !d.NextAt.IsZero() || len(d.Errors) != 0 {
				t.Errorf("delivered: %+v", d)
			}
		}
		eventually(t, "all have arrived", func() bool { _, n := crm.total(); return n == 20 })
		if calls, taken := cms.total(); calls != 20 || taken != 20 {
			t.Errorf("%d calls, %d taken, want 20", calls, taken)
		}

		if list, err := q.List(t.Context(), queue.Filter{Leads: []string{"never"}}); err != nil ||
			len(list) != 0 {
			t.Errorf("rolled back: %+v, %v", list, err)
		}
		first := q.the(t, "lead-000")
		if began := cms.times[0]; began.Sub(first.CreatedAt) > 20*time.Second {
			t.Errorf("the first try came after %v", began.Sub(first.CreatedAt))
		}
	})
}

// Transient failures are retried, a rejection fails at once, and no text contains
// personal data.
func TestFaults(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		const secret = "ana@example.org"
		faults := map[string]struct {
			err   error
			state queue.State
			text  string // beginning of the first error
		}{
			"unavailable": {
				trouble(upstream.Unavailable),
				queue.Delivered,
				"fake: storing: unavailable (HTTP 500)",
			},
			"refused": {trouble(upstream.Refused), queue.Delivered, "fake: storing: refused"},
			"foreign": {
				errors.New(secret),
				queue.Delivered,
				"unexpected error of type *errors.errorString",
			},
			"panic": {
				nil,
				queue.Delivered,
				"cms: delivering: unavailable: panic with a value of type string",
			},
			"late": {context.DeadlineExceeded, queue.Delivered, "context deadline exceeded"},
			"rejected": {fmt.Errorf("of %s: %w", secret, &upstream.Error{
				System: "crm",
				Op:     "storing",
				Kind:   upstream.Rejected,
				Detail: "no\x00such\xffthing " + secret,
			}), queue.Failed, "crm: storing: rejected: no such thing [e-mail]"},
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

		var outcomes [4]atomic.Int64
		o := options(tg.send)
		o.Observe = func(_ queue.Target, outcome queue.Outcome) {
			all := []queue.Outcome{
				queue.OutcomeDelivered,
				queue.Outcome(upstream.Unavailable),
				queue.OutcomeUnexpected,
				queue.Outcome(upstream.Rejected),
			}

			if i := slices.Index(all, outcome); i >= 0 {
				outcomes[i].Add(1)
			}
		}

		q := db(t, o)
		for id := range faults {
			q.add(t, id)
		}
		q.start(t)

		for id, f := range faults {
			d := q.becomes(t, id, f.state)
			if len(d.Errors) != 1 || !strings.HasPrefix(d.Errors[0].Error, f.text) ||
				strings.Contains(d.Errors[0].Error, secret) {
				t.Errorf("%s: kept %+v", id, d.Errors)
			}
		}

		for i, want := range []int64{5, 2, 2, 1} {
			if got := outcomes[i].Load(); got != want {
				t.Errorf("outcome %d was observed %d times, want %d", i, got, want)
			}
		}
	})
}

// A lead that always fails delays no other, and fails for good after its target's number
// of tries.
func TestPoisonedLead(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		tg := newFake(func(_ context.Context, id string, _ int) error {
			if id == "lead-000" {
				return trouble(upstream.Unavailable)
			}
			return nil
		})

		o := options(tg.send)
		o.Targets[0].MaxAttempts = 8
		q := db(t, o)
		q.start(t)

		q.add(t, ids(200)...)
		eventually(t, "all others arrive", func() bool { _, taken := tg.total(); return taken == 199 })
		d := q.becomes(t, "lead-000", queue.Failed)
		if calls, _ := tg.count("lead-000"); calls != 8 || d.Attempts != 8 || len(d.Errors) != 8 {
			t.Errorf("%d calls: %+v", calls, d)
		}

		tg.become(nil)
		if err := q.Retry(t.Context(), d.ID); err != nil {
			t.Fatal(err)
		}
		q.becomes(t, "lead-000", queue.Delivered)
	})
}

// A target that asks for a pause gets one, for all its deliveries. The pause counts as no
// try.
func TestRetryAfter(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		const pause = 3 * time.Second
		limited := trouble(upstream.Limited)
		limited.RetryAfter = pause
		tg := newFake(times(1, limited))
		tg.fault = func(_ context.Context, id string, call int) error {
			if id == "first" && call == 1 {
				return limited
			}
			return nil
		}

		o := options(tg.send)
		o.RetryMax = time.Second
		q := db(t, o)
		q.start(t)

		q.add(t, "first")
		eventually(t, "the target asks for a pause", func() bool {
			calls, _ := tg.total()
			return calls == 1
		})
		paused := time.Now()
		q.add(t, ids(10)...)
		eventually(t, "it is shown", func() bool {
			d := q.the(t, "first")
			return strings.HasPrefix(d.Paused, "fake: storing: limited") && d.NextAt.After(time.Now()) &&
				d.Attempts == 0
		})

		eventually(t, "all arrive", func() bool { _, taken := tg.total(); return taken == 11 })
		if after := tg.times[1].Sub(paused); after < pause-200*time.Millisecond {
			t.Errorf("it was called again after %v", after)
		}
		if d := q.becomes(t, "first", queue.Delivered); d.Attempts != 1 || len(d.Errors) != 0 {
			t.Errorf("the pause was counted: %+v", d)
		}
	})
}

// A limit of unknown length pauses its target, too, and does not count.
func TestLimitOfUnknownLength(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		tg := newFake(times(1, trouble(upstream.Limited)))
		o := options(tg.send)
		o.RetryMax = time.Second
		q := db(t, o)
		q.start(t)

		q.add(t, "first")
		if d := q.becomes(t, "first", queue.Delivered); d.Attempts != 1 || len(d.Errors) != 0 {
			t.Errorf("the pause was counted: %+v", d)
		}
		if pause := tg.times[1].Sub(tg.times[0]); pause < 900*time.Millisecond {
			t.Errorf("it was called again after %v", pause)
		}
	})
}

// A pause that a driver assumes is bounded by RetryMax, and an operator's retry ends it
// early.
func TestRetryDuringPause(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		daily := trouble(upstream.Limited)
		daily.Pause = 24 * time.Hour
		tg := newFake(times(always, daily))

		o := options(tg.send)
		o.RetryMax = time.Minute
		q := db(t, o)
		q.start(t)

		q.add(t, "first")
		eventually(t, "the target is paused", func() bool { return q.the(t, "first").Paused != "" })
		q.add(t, "second")
		eventually(t, "so is the next", func() bool { return q.the(t, "second").Paused != "" })
		if d := q.the(t, "first"); time.Until(d.NextAt) > 75*time.Second {
			t.Errorf("paused until %v", time.Until(d.NextAt))
		}

		tg.become(nil)
		for _, id := range []string{"first", "second"} {
			if err := q.Retry(t.Context(), q.the(t, id).ID); err != nil {
				t.Fatal(err)
			}
		}
		q.becomes(t, "first", queue.Delivered)
		q.becomes(t, "second", queue.Delivered)
		q.add(t, "third")
		q.becomes(t, "third", queue.Delivered)
	})
}

// A target is called at its pace and by no more than its number of workers at a time.
func TestPace(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		var running, most atomic.Int64
		tg := newFake(func(context.Context, string, int) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(20 * time.Millisecond)
			running.Add(-1)
			return nil
		})

		o := options(tg.send)
		o.Targets[0].PerSecond, o.Targets[0].MaxWorkers = 10, 2
		q := db(t, o)
		q.add(t, ids(16)...)
		q.start(t)

		eventually(t, "all arrive", func() bool { _, taken := tg.total(); return taken == 16 })
		if took := tg.times[15].Sub(tg.times[0]); took < 1200*time.Millisecond || most.Load() > 2 {
			t.Errorf("16 deliveries took %v, %d at a time", took, most.Load())
		}
	})
}

// Of a delivery that fails again and again the number of attempts is known, and the last
// errors.
func TestErrorsAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		tg := newFake(times(23, trouble(upstream.Unavailable)))
		o := options(tg.send)
		o.RetryMax = time.Millisecond
		q := db(t, o)
		q.start(t)
		q.add(t, "lead")

		d := q.becomes(t, "lead", queue.Delivered)
		if len(d.Errors) != 20 || d.Errors[0].Number != 4 || d.Errors[19].Number != 23 || d.Attempts != 24 {
			t.Errorf("delivered with %d errors: %+v", len(d.Errors), d)
		}
	})
}

// Two processes share the work without doubling it.
func TestTwoProcesses(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		// Neither process goes on before the other has begun.
		var both sync.WaitGroup
		both.Add(2)
		meet := func() func(context.Context, string, int) error {
			begin := sync.OnceFunc(both.Done)
			return func(context.Context, string, int) error { begin(); both.Wait(); return nil }
		}

		a, b := newFake(meet()), newFake(meet())
		first, second := db(t, options(a.send)), db(t, options(b.send))
		first.add(t, ids(100)...)
		first.start(t)
		second.start(t)

		eventually(t, "all arrive", func() bool {
			_, inA := a.total()
			_, inB := b.total()
			return inA+inB >= 100
		})

		for _, id := range ids(100) {
			first.becomes(t, id, queue.Delivered)
			inA, _ := a.count(id)
			inB, _ := b.count(id)
			if inA+inB != 1 {
				t.Errorf("%s was sent %d times", id, inA+inB)
			}
		}
	})
}

// A delivery that is under way at a stop is tried again after the next start, and the
// interrupted try is not counted.
func TestStop(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		tg := newFake(func(ctx context.Context, _ string, _ int) error { <-ctx.Done(); return ctx.Err() })
		q := db(t, options(tg.send))
		q.start(t)
		q.add(t, "lead")
		eventually(t, "it is sent", func() bool { calls, _ := tg.total(); return calls == 1 })

		q.stop(t, 100*time.Millisecond)
		if d := q.the(t, "lead"); d.State != queue.Pending || len(d.Errors) != 0 {
			t.Errorf("after the stop: %+v", d)
		}

		tg.become(nil)
		again := db(t, options(tg.send))
		again.start(t)
		if d := again.becomes(t, "lead", queue.Delivered); d.Attempts != 1 {
			t.Errorf("the interrupted try was counted: %+v", d)
		}
	})
}

// Erasing a lead removes its deliveries. A delivery that is running ends with its
// try.
func TestErase(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		var erased atomic.Bool
		release := make(chan struct{})
		tg := newFake(func(_ context.Context, id string, _ int) error {
			if id == "running" {
				<-release
			}
			return trouble(upstream.Unavailable)
		})

		o := options(tg.send)
		load := o.Load
		o.Load = func(ctx context.Context, id string) (lead.Lead, error) {
			if erased.Load() {
				return lead.Lead{}, store.ErrNotFound
			}
			return load(ctx, id)
		}
		o.RetryMax = time.Hour

		q := db(t, o)
		q.add(t, "running", "waiting", "other")
		q.start(t)
		q.becomes(t, "running", queue.Running)
		q.becomes(t, "waiting", queue.Retrying)

		erased.Store(true)
		if removed, running := q.records.remove(t, "running", "waiting"); removed != 1 || running != 1 {
			t.Errorf("removing a running and a waiting one: %d, %d", removed, running)
		}

		close(release)
		q.becomes(t, "running", queue.Delivered) // There is nothing left to send.
		if calls, _ := tg.count("running"); calls != 1 {
			t.Errorf("it was sent %d times", calls)
		}

		if removed, running := q.records.remove(t, "other"); removed != 1 || running != 0 {
			t.Errorf("removing a waiting one: %d, %d", removed, running)
		}
		list, err := q.List(t.Context(), queue.Filter{})
		if err != nil || len(list) != 1 {
			t.Errorf("left: %+v, %v", list, err)
		}
	})
}

// Deliveries that an earlier release created are recorded, and delivered. One that ended
// without its record is corrected.
func TestDeliveriesOfEarlierReleases(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		tg := newFake(nil)
		q := db(t, options(tg.send))
		q.addUnrecorded("old")

		q.records.full = errors.New("the disk is full")
		if err := q.Import(t.Context()); !errors.Is(err, q.records.full) {
			t.Errorf("an import that a full disk prevents: %v", err)
		}
		q.records.full = nil
		if err := q.Import(t.Context()); err != nil {
			t.Fatal(err)
		}

		// What is recorded can be read with a full disk, too.
		q.records.full = errors.New("the disk is full")
		if err := q.Import(t.Context()); err != nil {
			t.Errorf("nothing is to be recorded: %v", err)
		}
		q.records.full = nil

		if list, err := q.List(t.Context(), queue.Filter{
			Leads: []string{"old", "other"},
		}); err != nil || len(list) != 1 || list[0].LeadID != "old" {
			t.Errorf("of its submission are listed: %+v, %v", list, err)
		}

		q.start(t)
		eventually(t, "it is delivered", func() bool { _, taken := tg.count("old"); return taken == 1 })
		eventually(t, "it is finished", func() bool { return q.records.all()[0].Progress == lead.Ended })

		q.becomes(t, "old", queue.Delivered)
		q.records.set(store.Delivery{LeadID: "old", Target: "cms", Progress: lead.Pending})
		q.records.set(store.Delivery{ID: 4711, LeadID: "gone", Target: "cms", Progress: lead.Failed})
		if err := q.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, d := range q.records.all() {
			if d.Progress != lead.Ended {
				t.Errorf("it is recorded as %+v", d)
			}
		}
	})
}

// A listing has several pages.
func TestPages(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		q := db(t, options(nil))
		q.add(t, ids(650)...)
		for _, f := range []queue.Filter{{}, {Newest: true}, {Leads: ids(700)}, {Limit: 649}} {
			list, err := q.List(t.Context(), f)
			if want := 650 - f.Limit/649; err != nil || len(list) != want {
				t.Errorf("%d deliveries, %v, want %d", len(list), err, want)
			}
		}
		if list, err := q.List(t.Context(), queue.Filter{After: q.the(t, "lead-049").ID}); err != nil || len(list) != 600 {
			t.Errorf("%d deliveries come after the fiftieth, %v", len(list), err)
		}
	})
}

// Operators list, count, retry and resend.
func TestOperate(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		tg := newFake(func(_ context.Context, id string, _ int) error {
			switch id {
			case "rejected":
				return trouble(upstream.Rejected)
			case "retrying":
				return trouble(upstream.Unavailable)
			}
			return nil
		})

		o := options(tg.send)
		o.RetryMax = time.Hour
		load := o.Load
		o.Load = func(ctx context.Context, id string) (lead.Lead, error) {
			if id == "unknown" {
				return lead.Lead{}, store.ErrNotFound
			}
			return load(ctx, id)
		}

		q := db(t, o)
		q.start(t)
		q.add(t, "rejected", "retrying", "delivered")

		rejected := q.becomes(t, "rejected", queue.Failed)
		q.becomes(t, "retrying", queue.Retrying)
		delivered := q.becomes(t, "delivered", queue.Delivered)
		q.stop(t, time.Minute)
		q.add(t, "pending")

		got := map[queue.State]int64{}
		counts, err := q.Counts(t.Context())
		for _, c := range counts {
			if c.Target == queue.CMS {
				got[c.State] = c.Number
			}
		}
		if want := map[queue.State]int64{
			queue.Pending:  1,
			queue.Retrying: 1,
			queue.Failed:   1,
		}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("counted %v, %v", got, err)
		}

		for name, tt := range map[string]struct {
			filter queue.Filter
			want   int
		}{
			"all":      {queue.Filter{}, 4},
			"two":      {queue.Filter{Limit: 2}, 2},
			"states":   {queue.Filter{States: []queue.State{queue.Pending, queue.Failed}}, 2},
			"retrying": {queue.Filter{States: []queue.State{queue.Retrying}}, 1},
			"target":   {queue.Filter{Target: queue.CRM}, 0},
			"id":       {queue.Filter{ID: rejected.ID}, 1},
			"no id":    {queue.Filter{ID: 4711}, 0},
		} {
			if list, err := q.List(t.Context(), tt.filter); len(list) != tt.want || err != nil {
				t.Errorf("%s: %+v, %v", name, list, err)
			}
		}

		if err := q.Resend(t.Context(), "retrying", queue.CMS); !errors.Is(err, queue.ErrUnderWay) {
			t.Errorf("resending what is under way: %v", err)
		}
		if err := q.Resend(t.Context(), "unknown", queue.CMS); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("resending what is not stored: %v", err)
		}
		if err := q.Resend(t.Context(), "delivered", "fax"); !errors.Is(err, queue.ErrUnknownTarget) {
			t.Errorf("resending to an unknown target: %v", err)
		}
		if err := q.Retry(t.Context(), 4711); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("retrying nothing: %v", err)
		}

		tg.become(nil)
		if err := q.Retry(t.Context(), delivered.ID); err != nil {
			t.Error(err)
		}
		if err := q.Resend(t.Context(), "delivered", queue.CMS); !errors.Is(err, queue.ErrUnderWay) {
			t.Errorf("resending what is retried: %v", err)
		}
		if err := q.Resend(t.Context(), "rejected", queue.CMS); err != nil {
			t.Error(err)
		}
		if err := q.Retry(t.Context(), q.the(t, "retrying").ID); err != nil {
			t.Error(err)
		}

		db(t, o).start(t)
		q.becomes(t, "rejected", queue.Delivered)
		q.becomes(t, "retrying", queue.Delivered)
		q.becomes(t, "pending", queue.Delivered)
		eventually(t, "the delivered one is sent again", func() bool {
			calls, _ := tg.count("delivered")
			return calls == 2
		})
	})
}
