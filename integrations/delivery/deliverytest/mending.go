package deliverytest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

// testList: what the filters leave, in which order, and what the numbers say.
func testList(t *testing.T, db Database) {
	began := time.Now().Add(-time.Second)
	tg := newTarget(func(_ context.Context, id string, _ int) error {
		switch id {
		case "bad":
			return trouble(upstream.Rejected, 0)
		case "later":
			return trouble(upstream.Unavailable, 0)
		}
		return nil
	})
	q := db.Open(t, Settings{Senders: only(tg), BackoffFirst: time.Hour, BackoffMax: time.Hour})
	enqueue(t, q, "good", "bad", "later")
	start(t, q)
	untilState(t, q, "good", delivery.Delivered)
	untilState(t, q, "bad", delivery.Failed)
	later := untilState(t, q, "later", delivery.Retrying)
	if left := time.Until(later.NextAt); left < 40*time.Minute || left > 80*time.Minute || later.Attempts != 1 {
		t.Errorf("next try in %v after %d attempts", left, later.Attempts)
	}
	filters := []struct {
		name string
		f    delivery.Filter
		want []string // submission and target
	}{
		{"all", delivery.Filter{}, []string{"good cms", "bad cms", "later cms", "good crm", "bad crm", "later crm"}},
		{"id", delivery.Filter{ID: later.ID}, []string{"later cms"}},
		{"no such id", delivery.Filter{ID: 1 << 40}, nil},
		{"limit", delivery.Filter{Limit: 2}, []string{"good cms", "bad cms"}},
		{"target", delivery.Filter{Target: delivery.CRM}, []string{"good crm", "bad crm", "later crm"}},
		{"submission", delivery.Filter{SubmissionID: "bad"}, []string{"bad cms", "bad crm"}},
		{"pending", delivery.Filter{States: []delivery.State{delivery.Pending}}, []string{"good crm", "bad crm", "later crm"}},
		{"two states", delivery.Filter{States: []delivery.State{delivery.Failed, delivery.Delivered}}, []string{"good cms", "bad cms"}},
		{"retrying", delivery.Filter{States: []delivery.State{delivery.Retrying}}, []string{"later cms"}},
		{"everything at once", delivery.Filter{States: []delivery.State{delivery.Failed}, Target: delivery.CMS, SubmissionID: "bad", Limit: 5}, []string{"bad cms"}},
		{"none", delivery.Filter{SubmissionID: "' OR 1=1 --"}, nil},
		{"no such state", delivery.Filter{States: []delivery.State{"odd"}}, nil},
	}
	for _, c := range filters {
		var got []string
		for _, d := range list(t, q, c.f) {
			got = append(got, d.SubmissionID+" "+string(d.Target))
			if d.CreatedAt.Before(began) || d.CreatedAt.After(time.Now().Add(time.Second)) || d.CreatedAt.Location() != time.UTC {
				t.Errorf("created at %v", d.CreatedAt)
			}
		}
		if !equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	counts, err := q.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(counts) != len(delivery.Targets())*len(delivery.States()) {
		t.Errorf("%d counts", len(counts))
	}
	want := map[delivery.Target]map[delivery.State]int64{
		delivery.CMS: {delivery.Delivered: 1, delivery.Failed: 1, delivery.Retrying: 1},
		delivery.CRM: {delivery.Pending: 3},
	}
	for _, c := range counts {
		if c.Number != want[c.Target][c.State] {
			t.Errorf("%s %s: %d, want %d", c.Target, c.State, c.Number, want[c.Target][c.State])
		}
		if known := !c.Oldest.IsZero(); known != (c.Number > 0 && c.State != delivery.Delivered) || known && c.Oldest.Before(began) {
			t.Errorf("%s %s: oldest %v", c.Target, c.State, c.Oldest)
		}
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// testRetry: by hand a delivery is due now, whatever its state was.
func testRetry(t *testing.T, db Database) {
	tg := newTarget(func(_ context.Context, id string, call int) error {
		if id == "later" && call == 1 {
			return trouble(upstream.Unavailable, 0)
		}
		if id == "bad" && call == 1 {
			return trouble(upstream.Rejected, 0)
		}
		return nil
	})
	q := db.Open(t, Settings{Senders: only(tg), BackoffFirst: time.Hour, BackoffMax: time.Hour})
	enqueue(t, q, "good", "bad", "later")
	start(t, q)
	for id, state := range map[string]delivery.State{"good": delivery.Delivered, "bad": delivery.Failed, "later": delivery.Retrying} {
		d := untilState(t, q, id, state)
		if err := q.Retry(t.Context(), d.ID); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		until(t, id+" was sent again", func() bool { calls, _ := tg.count(id); return calls == 2 })
		if d = untilState(t, q, id, delivery.Delivered); d.FinishedAt.IsZero() {
			t.Errorf("%s: %+v", id, d)
		}
	}
	if err := q.Retry(t.Context(), 1<<40); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
	// While another one is under way, a finished one is not begun again.
	waiting := db.Open(t, Settings{})
	done := the(t, q, "good")
	stop(t, q)
	if err := waiting.Resend(t.Context(), "good", delivery.CMS); err != nil {
		t.Fatal(err)
	}
	if err := waiting.Retry(t.Context(), done.ID); !errors.Is(err, delivery.ErrUnderWay) {
		t.Errorf("retrying beside another: %v", err)
	}
}

func stop(t *testing.T, q Subject) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		t.Fatalf("stopping: %v", err)
	}
}

// testResend: anew after the end of a delivery, not beside one under way.
func testResend(t *testing.T, db Database) {
	goOn := make(chan struct{})
	began := make(chan struct{}, 10)
	tg := newTarget(func(_ context.Context, _ string, call int) error {
		if call == 1 {
			began <- struct{}{}
			<-goOn
		}
		return nil
	})
	known := func(_ context.Context, id string) (quote.Submission, error) {
		if id == "unknown" {
			return quote.Submission{}, store.ErrNotFound
		}
		return quote.Submission{ID: id}, nil
	}
	q := db.Open(t, Settings{Senders: only(tg), Load: known})
	resend := func(id string, target delivery.Target) error { return q.Resend(t.Context(), id, target) }
	if err := resend("unknown", delivery.CMS); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown submission: %v", err)
	}
	if err := resend("lead", "fax"); !errors.Is(err, delivery.ErrUnknownTarget) {
		t.Errorf("an unknown target: %v", err)
	}
	enqueue(t, q, "lead")
	if err := resend("lead", delivery.CMS); err != nil {
		t.Errorf("while it waits: %v", err)
	}
	start(t, q)
	<-began
	if err := resend("lead", delivery.CMS); err != nil {
		t.Errorf("while it is tried: %v", err)
	}
	close(goOn)
	untilState(t, q, "lead", delivery.Delivered) // fails if there are two
	if err := resend("lead", delivery.CMS); err != nil {
		t.Fatal(err)
	}
	until(t, "it was sent again", func() bool { calls, _ := tg.count("lead"); return calls == 2 })
	until(t, "two deliveries are finished", func() bool {
		return len(list(t, q, delivery.Filter{SubmissionID: "lead", Target: delivery.CMS, States: []delivery.State{delivery.Delivered}})) == 2
	})
	if l := list(t, q, delivery.Filter{SubmissionID: "lead", Target: delivery.CRM}); len(l) != 1 {
		t.Errorf("the other target: %+v", l)
	}
}

// testResendRace: ten at once make one.
func testResendRace(t *testing.T, db Database) {
	q := db.Open(t, Settings{})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := q.Resend(t.Context(), "lead", delivery.CMS); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	the(t, q, "lead")
}

// testCancel: an erased submission leaves no deliveries, in whatever state they were.
func testCancel(t *testing.T, db Database) {
	tg := newTarget(func(_ context.Context, id string, _ int) error {
		if id == "bad" {
			return trouble(upstream.Rejected, 0)
		}
		return nil
	})
	q := db.Open(t, Settings{Senders: only(tg)}) // the CRM's stay pending
	enqueue(t, q, "good", "bad", "other")
	start(t, q)
	untilState(t, q, "good", delivery.Delivered)
	untilState(t, q, "bad", delivery.Failed)
	for _, id := range []string{"good", "bad", "unknown"} {
		if err := q.Cancel(t.Context(), id); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if l := list(t, q, delivery.Filter{SubmissionID: id}); len(l) != 0 {
			t.Errorf("%s: left %+v", id, l)
		}
	}
	if l := list(t, q, delivery.Filter{}); len(l) != 2 || l[0].SubmissionID != "other" {
		t.Errorf("left %+v", l)
	}
}

// testCancelRunning: a try under way ends, and isn't repeated.
func testCancelRunning(t *testing.T, db Database) {
	began, goOn := make(chan struct{}, 10), make(chan struct{})
	tg := newTarget(func(ctx context.Context, _ string, _ int) error {
		began <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return trouble(upstream.Unavailable, 0)
	})
	q := db.Open(t, Settings{Senders: only(tg)})
	enqueue(t, q, "lead")
	start(t, q)
	<-began
	if err := q.Cancel(t.Context(), "lead"); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	untilState(t, q, "lead", delivery.Failed)
	time.Sleep(200 * time.Millisecond)
	if calls, _ := tg.count("lead"); calls != 1 {
		t.Errorf("tried %d times", calls)
	}
}
