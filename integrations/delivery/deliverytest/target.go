package deliverytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

// patience is how long a case waits for what must happen.
const patience = 20 * time.Second

// target is a far end that does as it is told and remembers what it got.
type target struct {
	mu    sync.Mutex
	calls map[string]int // tries by submission
	taken map[string]int // successful ones
	fault func(ctx context.Context, id string, call int) error
}

func newTarget(fault func(ctx context.Context, id string, call int) error) *target {
	return &target{calls: map[string]int{}, taken: map[string]int{}, fault: fault}
}

// send is the target's delivery.Send.
func (tg *target) send(ctx context.Context, s *quote.Submission) error {
	tg.mu.Lock()
	tg.calls[s.ID]++
	call, fault := tg.calls[s.ID], tg.fault
	tg.mu.Unlock()
	if fault != nil {
		if err := fault(ctx, s.ID, call); err != nil {
			return err
		}
	}
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.taken[s.ID]++
	return nil
}

func (tg *target) become(fault func(ctx context.Context, id string, call int) error) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.fault = fault
}

func (tg *target) count(id string) (calls, taken int) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	return tg.calls[id], tg.taken[id]
}

func (tg *target) totals() (calls, taken int) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	for _, n := range tg.calls {
		calls += n
	}
	for _, n := range tg.taken {
		taken += n
	}
	return calls, taken
}

// failing answers the first n calls with err, all of them where n is negative.
func failing(n int, err error) func(context.Context, string, int) error {
	return func(_ context.Context, _ string, call int) error {
		if n < 0 || call <= n {
			return err
		}
		return nil
	}
}

func trouble(kind upstream.Kind, after time.Duration) error {
	return &upstream.Error{System: "fake", Op: "storing", Kind: kind, Status: 500, RetryAfter: after}
}

// only sends to the CMS and leaves the CRM alone.
func only(tg *target) map[delivery.Target]delivery.Send {
	return map[delivery.Target]delivery.Send{delivery.CMS: tg.send}
}

func start(t *testing.T, s Subject) {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatalf("starting: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
}

func enqueue(t *testing.T, s Subject, ids ...string) {
	t.Helper()
	if err := s.Enqueue(t.Context(), true, ids...); err != nil {
		t.Fatalf("enqueueing: %v", err)
	}
}

func list(t *testing.T, s Subject, f delivery.Filter) []delivery.Delivery {
	t.Helper()
	l, err := s.List(t.Context(), f)
	if err != nil {
		t.Fatalf("listing: %v", err)
	}
	return l
}

// the returns the one delivery of a submission to the CMS.
func the(t *testing.T, s Subject, id string) delivery.Delivery {
	t.Helper()
	l := list(t, s, delivery.Filter{SubmissionID: id, Target: delivery.CMS})
	if len(l) != 1 {
		t.Fatalf("%d deliveries of %s, want 1", len(l), id)
	}
	return l[0]
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func untilState(t *testing.T, s Subject, id string, want delivery.State) delivery.Delivery {
	t.Helper()
	var d delivery.Delivery
	deadline := time.Now().Add(patience)
	for {
		if d = the(t, s, id); d.State == want {
			return d
		}
		if time.Now().After(deadline) {
			t.Fatalf("delivery of %s is %s, want %s: %+v", id, d.State, want, d)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func names(prefix string, n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s-%04d", prefix, i))
	}
	return ids
}

// events collects what a queue tells its observer.
type events struct {
	mu  sync.Mutex
	all []delivery.Event
}

func (e *events) observe(ev delivery.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

func (e *events) of(kind delivery.EventKind) []delivery.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.all), func(ev delivery.Event) bool { return ev.Kind != kind })
}
