package queue_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

// change has leads delivered again in a transaction, as the store does that changes them.
func (s *subject) change(t *testing.T, ids ...string) {
	t.Helper()
	err := s.records.inTx(func(in store.Deliveries) error {
		made, err := in.ResendChanged(t.Context(), ids)
		for _, d := range made {
			s.records.set(d)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A lead that has changed is delivered again, also if it was being delivered, and the process
// ends meanwhile. One whose deliveries were removed is not.
func TestResendChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		running := make(chan string, 2)
		tg := newFake(func(ctx context.Context, id string, call int) error {
			switch {
			case call > 1 || id == "delivered":
				return nil
			case id == "failed":
				return trouble(upstream.Rejected)
			}
			running <- id
			<-ctx.Done() // the process ends
			return ctx.Err()
		})
		webhook := newFake(nil)
		o := options(tg.send)
		o.Targets = append(o.Targets, queue.TargetConfig{Name: queue.Webhook, Send: webhook.send, MaxWorkers: 1})

		q := db(t, o)
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		q.add(t, "delivered", "failed", "running", "removed")
		q.becomes(t, "delivered", queue.Delivered)
		q.becomes(t, "failed", queue.Failed)
		<-running
		<-running
		q.change(t, "delivered", "failed", "running", "removed")
		q.becomes(t, "delivered", queue.Delivered)
		q.becomes(t, "failed", queue.Delivered)
		q.stop(t, 50*time.Millisecond)

		if n, left := q.records.remove(t, "removed"); n != 2 || left != 0 {
			t.Fatalf("%d were removed, %d are running", n, left)
		}
		again := db(t, o)
		again.start(t)
		eventually(t, "the changes are done with", func() bool { return again.changes("resend_changed") == 0 })
		again.becomes(t, "running", queue.Delivered)
		for id, want := range map[string]int{"delivered": 2, "failed": 2, "running": 2, "removed": 1} {
			calls, _ := tg.count(id)
			others, _ := webhook.count(id)
			interrupted := id == "running" && calls == want+1 // is tried again, too
			if calls != want && !interrupted || others > 1 {
				t.Errorf("%s had %d calls and %d of the webhook, want %d and 1", id, calls, others, want)
			}
		}
	})
}

// The attempt that was running when a lead changed is followed by another.
func TestResendAfterAttempt(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		running, end := make(chan struct{}), make(chan struct{})
		tg := newFake(func(_ context.Context, _ string, call int) error {
			if call == 1 {
				close(running)
				<-end
			}
			return nil
		})
		q := db(t, options(tg.send))
		q.start(t)
		q.add(t, "one")
		<-running
		changed := func(want ...store.Delivery) {
			t.Helper()
			if list, err := q.Changed(t.Context()); err != nil || !slices.Equal(list, want) {
				t.Errorf("changed are %+v, %v, want %+v", list, err, want)
			}
		}
		changed()
		q.change(t, "one")
		changed(store.Delivery{LeadID: "one", Target: string(queue.CMS)})
		close(end)

		eventually(t, "it is sent again", func() bool { calls, _ := tg.count("one"); return calls == 2 })
		eventually(t, "the change is done with", func() bool { return q.changes("resend_changed") == 0 })
		q.becomes(t, "one", queue.Delivered)
		changed()
		for _, d := range q.records.all() {
			if d.Progress != lead.Ended {
				t.Errorf("recorded is %+v", d)
			}
		}
	})
}
