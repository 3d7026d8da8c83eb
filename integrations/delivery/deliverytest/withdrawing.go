package deliverytest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/upstream"
)

// testWithdraw: the deliveries of a submission go, in whatever state, and no others.
func testWithdraw(t *testing.T, db Database) {
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
	untilState(t, q, "other", delivery.Delivered)
	for id, want := range map[string]int{"good": 2, "bad": 2, "unknown": 0} {
		removed, running, err := q.Withdraw(t.Context(), id)
		if err != nil || removed != want || running != 0 {
			t.Errorf("%s: %d removed, %d running, %v, want %d removed", id, removed, running, err, want)
		}
		if l := list(t, q, delivery.Filter{SubmissionID: id}); len(l) != 0 {
			t.Errorf("%s: left %+v", id, l)
		}
	}
	if l := list(t, q, delivery.Filter{}); len(l) != 2 || l[0].SubmissionID != "other" {
		t.Errorf("left %+v", l)
	}
}

// testWithdrawRunning: a try under way is counted, isn't repeated, and can be removed
// once it has ended; by another process than the one that tries.
func testWithdrawRunning(t *testing.T, db Database) {
	began, goOn := make(chan struct{}, 10), make(chan struct{})
	tg := newTarget(func(ctx context.Context, _ string, _ int) error {
		began <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return trouble(upstream.Unavailable, 0)
	})
	working, looking := db.Open(t, Settings{Senders: only(tg)}), db.Open(t, Settings{})
	enqueue(t, working, "lead")
	start(t, working)
	<-began
	if removed, running, err := looking.Withdraw(t.Context(), "lead"); err != nil || removed != 1 || running != 1 {
		t.Errorf("%d removed, %d running, %v, want one of each", removed, running, err)
	}
	close(goOn)
	until(t, "the rest can be withdrawn", func() bool {
		removed, running, err := looking.Withdraw(t.Context(), "lead")
		if err != nil {
			t.Error(err)
		}
		return removed == 1 && running == 0
	})
	time.Sleep(200 * time.Millisecond)
	if calls, _ := tg.count("lead"); calls != 1 {
		t.Errorf("tried %d times", calls)
	}
	if l := list(t, looking, delivery.Filter{}); len(l) != 0 {
		t.Errorf("left %+v", l)
	}
}

// testUnderWay: what waits, is tried or will be tried again is under way; what arrived
// or failed for good is not.
func testUnderWay(t *testing.T, db Database) {
	began, goOn := make(chan struct{}, 1), make(chan struct{})
	defer close(goOn)
	both := newTarget(func(_ context.Context, id string, _ int) error {
		switch id {
		case "bad":
			return trouble(upstream.Rejected, 0)
		case "later":
			return trouble(upstream.Unavailable, 0)
		case "running":
			began <- struct{}{}
			<-goOn
		}
		return nil
	})
	senders := map[delivery.Target]delivery.Send{delivery.CMS: both.send, delivery.CRM: newTarget(nil).send}
	q := db.Open(t, Settings{Senders: senders, BackoffFirst: time.Hour, BackoffMax: time.Hour})
	enqueue(t, q, "good", "bad", "later", "running")
	start(t, q)
	untilState(t, q, "good", delivery.Delivered)
	untilState(t, q, "bad", delivery.Failed)
	untilState(t, q, "later", delivery.Retrying)
	<-began
	stopped := db.Open(t, Settings{})
	ask := []string{"unknown", "running", "later", "bad", "good"}
	for i := range 150 { // more ids than any page is long
		ask = append(ask, fmt.Sprint("filler-", i))
	}
	until(t, "the other target has everything", func() bool {
		return len(list(t, q, delivery.Filter{Target: delivery.CRM, States: []delivery.State{delivery.Delivered}})) == 4
	})
	busy, err := stopped.UnderWay(t.Context(), ask...)
	slices.Sort(busy)
	if err != nil || !slices.Equal(busy, []string{"later", "running"}) {
		t.Errorf("under way are %q %v", busy, err)
	}
	if busy, err := stopped.UnderWay(t.Context()); err != nil || len(busy) != 0 {
		t.Errorf("of none are under way %q %v", busy, err)
	}
}
