package queue_test

import (
	"context"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
)

// A mail to a visitor never fails: if it is rejected or runs out of attempts, it is
// recorded as not sent and does not affect its lead. A mail to sales does fail. A
// postponed mail does not delay others, and its attempts do not count.
func TestVisitorMailNeverFails(t *testing.T) {
	t.Parallel()
	send := newFake(func(_ context.Context, id string, _ int) error {
		switch id {
		case "rejected":
			return failure(upstream.Rejected)
		case "tried":
			return failure(upstream.Unavailable)
		case "waits":
			return &queue.UnsentError{Until: time.Now().Add(time.Hour), Reason: "too many"}
		}
		return &queue.UnsentError{Reason: "a test address"}
	}).send
	o := options(nil)
	o.Targets = nil
	for _, target := range []lead.Target{lead.VisitorMail, lead.SalesMail} {
		o.deliver(send, queue.TargetConfig{Name: target, MaxWorkers: 4, MaxAttempts: 2})
	}
	q := onSQLite(t).open(t, o)
	q.start(t)
	q.add(t, "waits", "rejected", "tried", "chosen")

	for id, want := range map[string]struct {
		reason string
		sales  lead.DeliveryState
	}{
		"rejected": {"fake: storing: rejected (HTTP 500)", lead.Failed},
		"tried":    {"fake: storing: unavailable (HTTP 500)", lead.Failed},
		"chosen":   {"a test address", lead.NotSent},
	} {
		if d := q.waitForTarget(t, id, lead.VisitorMail, lead.NotSent); d.Reason != want.reason || d.FinishedAt.IsZero() {
			t.Errorf("%s: %+v, want the reason %q", id, d, want.reason)
		}
		q.waitForTarget(t, id, lead.SalesMail, want.sales)
	}
	if l, err := q.store.Lead(t.Context(), "chosen"); err != nil || l.Progress != lead.Delivered {
		t.Errorf("the lead is %s, %v", l.Progress, err)
	}
	if d := q.delivery(t, "waits", lead.VisitorMail); d.Paused != "too many" || d.Attempts != 0 || d.State != lead.Pending {
		t.Errorf("the postponed mail is %+v", d)
	}
}
