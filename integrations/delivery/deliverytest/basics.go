package deliverytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

// testEnqueue: one delivery per target, each delivered once and soon, with the
// submission that Load returned.
func testEnqueue(t *testing.T, db Database) {
	cms, crm := newTarget(nil), newTarget(nil)
	got := make(chan quote.Submission, 100)
	q := db.Open(t, Settings{Senders: map[delivery.Target]delivery.Send{
		delivery.CMS: func(ctx context.Context, s *quote.Submission) error { got <- *s; return cms.send(ctx, s) },
		delivery.CRM: crm.send,
	}})
	start(t, q)
	time.Sleep(100 * time.Millisecond) // let the first looks pass: the job must be noticed by itself
	began := time.Now()
	ids := names("s", 20)
	enqueue(t, q, ids...)
	if s := <-got; s.Contact.Email != s.ID+"@example.org" {
		t.Errorf("sent %+v", s)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("the first delivery was noticed after %v", took)
	}
	for _, id := range ids {
		until(t, "both targets have it", func() bool {
			l := list(t, q, delivery.Filter{SubmissionID: id})
			return len(l) == 2 && l[0].State == delivery.Delivered && l[1].State == delivery.Delivered
		})
		for _, tg := range []*target{cms, crm} {
			if calls, taken := tg.count(id); calls != 1 || taken != 1 {
				t.Errorf("%s: %d calls, %d taken", id, calls, taken)
			}
		}
	}
}

// testRollback: a delivery exists only if its submission does.
func testRollback(t *testing.T, db Database) {
	tg := newTarget(nil)
	q := db.Open(t, Settings{Senders: only(tg)})
	if err := q.Enqueue(t.Context(), false, "never"); err != nil {
		t.Fatal(err)
	}
	start(t, q)
	enqueue(t, q, "there")
	untilState(t, q, "there", delivery.Delivered)
	if l := list(t, q, delivery.Filter{SubmissionID: "never"}); len(l) != 0 {
		t.Errorf("a rolled back delivery is there: %+v", l)
	}
	if calls, _ := tg.count("never"); calls != 0 {
		t.Errorf("a rolled back delivery was tried %d times", calls)
	}
}

// testRedaction: what is kept of an error is free of personal data, and can be kept.
func testRedaction(t *testing.T, db Database) {
	const secret = "ana@example.org"
	faults := map[string]struct {
		err  error
		want string
	}{
		"upstream": {&upstream.Error{System: "crm", Op: "storing", Kind: upstream.Rejected, Detail: "no such property"}, "crm: storing: rejected: no such property"},
		"wrapped":  {fmt.Errorf("contact %s: %w", secret, trouble(upstream.Rejected, 0)), "fake: storing: rejected (HTTP 500)"},
		"foreign":  {fmt.Errorf("contact %s: %w", secret, errors.New(secret)), "unexpected error of type *errors.errorString"},
		"odd": {&upstream.Error{System: "crm", Op: "storing", Kind: upstream.Rejected,
			Detail: "a\x00b\xffc" + strings.Repeat("ș", 5000)}, "crm: storing: rejected: a b c"},
	}
	tg := newTarget(func(_ context.Context, id string, _ int) error {
		if id == "panic" {
			panic(secret)
		}
		return faults[id].err
	})
	q := db.Open(t, Settings{Senders: only(tg), MaxAttempts: 1})
	enqueue(t, q, "panic")
	for id := range faults {
		enqueue(t, q, id)
	}
	start(t, q)
	for id, f := range faults {
		d := untilState(t, q, id, delivery.Failed)
		if len(d.Errors) != 1 || !strings.HasPrefix(d.Errors[0].Error, f.want) || strings.Contains(d.Errors[0].Error, secret) {
			t.Errorf("%s: kept %+v, want %q", id, d.Errors, f.want)
		}
		if len(d.Errors) == 1 && (len(d.Errors[0].Error) > 1100 || time.Since(d.Errors[0].At) > time.Minute || d.Errors[0].Number != 1) {
			t.Errorf("%s: kept %d bytes at %v, number %d", id, len(d.Errors[0].Error), d.Errors[0].At, d.Errors[0].Number)
		}
	}
	if d := untilState(t, q, "panic", delivery.Failed); len(d.Errors) != 1 || strings.Contains(d.Errors[0].Error, secret) {
		t.Errorf("panic: kept %+v", d.Errors)
	}
}

// testExhausted: a delivery that used up its attempts is kept, and can be mended.
func testExhausted(t *testing.T, db Database) {
	tg := newTarget(failing(-1, trouble(upstream.Unavailable, 0)))
	q := db.Open(t, Settings{Senders: only(tg), MaxAttempts: 3})
	enqueue(t, q, "tired")
	start(t, q)
	d := untilState(t, q, "tired", delivery.Failed)
	if calls, _ := tg.count("tired"); calls != 3 || len(d.Errors) != 3 || d.Attempts != 3 {
		t.Errorf("%d calls, %d attempts, errors %+v", calls, d.Attempts, d.Errors)
	}
	tg.become(failing(5, trouble(upstream.Unavailable, 0)))
	if err := q.Retry(t.Context(), d.ID); err != nil {
		t.Fatal(err)
	}
	if d = untilState(t, q, "tired", delivery.Delivered); len(d.Errors) != 5 {
		t.Errorf("after a retry: %+v", d.Errors)
	}
}

// testKept: no clearing up, which begins within a second of a start, takes failed
// deliveries away, nor fresh delivered ones.
func testKept(t *testing.T, db Database) {
	tg := newTarget(func(_ context.Context, id string, _ int) error {
		switch id {
		case "bad":
			return trouble(upstream.Rejected, 0)
		case "tired":
			return trouble(upstream.Unavailable, 0)
		}
		return nil
	})
	q := db.Open(t, Settings{Senders: only(tg), MaxAttempts: 2})
	enqueue(t, q, "good", "bad", "tired")
	start(t, q)
	untilState(t, q, "good", delivery.Delivered)
	untilState(t, q, "bad", delivery.Failed)
	untilState(t, q, "tired", delivery.Failed)
	stop(t, q)
	start(t, db.Open(t, Settings{Senders: only(tg)}))
	time.Sleep(1500 * time.Millisecond)
	if l := list(t, q, delivery.Filter{Target: delivery.CMS}); len(l) != 3 {
		t.Errorf("left: %+v", l)
	}
}

// testErased: there is nothing to send of a submission that is gone.
func testErased(t *testing.T, db Database) {
	tg := newTarget(nil)
	q := db.Open(t, Settings{Senders: only(tg), Load: func(_ context.Context, id string) (quote.Submission, error) {
		return quote.Submission{}, fmt.Errorf("reading %s: %w", id, store.ErrNotFound)
	}})
	enqueue(t, q, "gone")
	start(t, q)
	d := untilState(t, q, "gone", delivery.Failed)
	if calls, _ := tg.count("gone"); calls != 0 || len(d.Errors) != 1 || strings.Contains(d.Errors[0].Error, "gone") {
		t.Errorf("%d calls, errors %+v", calls, d.Errors)
	}
}

// testLoadFails: trouble with the database says nothing about the target.
func testLoadFails(t *testing.T, db Database) {
	tg := newTarget(nil)
	var loads atomic.Int64
	var seen events
	q := db.Open(t, Settings{Senders: only(tg), CircuitFailures: 2, Observe: seen.observe,
		Load: func(_ context.Context, id string) (quote.Submission, error) {
			if loads.Add(1) <= 5 {
				return quote.Submission{}, store.ErrUnavailable
			}
			return quote.Submission{ID: id}, nil
		}})
	enqueue(t, q, "late")
	start(t, q)
	untilState(t, q, "late", delivery.Delivered)
	if opened := seen.of(delivery.CircuitOpened); len(opened) != 0 {
		t.Errorf("the circuit opened: %+v", opened)
	}
}
