package queue_test

import (
	"context"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
)

// openMails opens a queue that only sends mails, each at most twice.
func openMails(t *testing.T, fault func(ctx context.Context, id string, call int) error) *subject {
	t.Helper()
	o := options(nil)
	o.Targets = nil
	for _, target := range []lead.Target{lead.VisitorMail, lead.SalesMail} {
		o.deliver(newFake(fault).send, queue.TargetConfig{Name: target, MaxWorkers: 4, MaxAttempts: 2})
	}
	q := onSQLite(t).open(t, o)
	q.start(t)
	return q
}

// A visitor's mail never fails: rejected, or tried too often, it is not sent, and decides
// nothing about its lead. One to sales does.
func TestVisitorMailNeverFails(t *testing.T) {
	t.Parallel()
	q := openMails(t, func(_ context.Context, id string, _ int) error {
		switch id {
		case "rejected":
			return trouble(upstream.Rejected)
		case "tried":
			return trouble(upstream.Unavailable)
		}
		return &queue.NotSentError{Reason: "a test address"}
	})
	q.add(t, "rejected", "tried", "chosen")

	for id, want := range map[string]struct {
		reason string
		sales  lead.DeliveryState
	}{
		"rejected": {"fake: storing: rejected (HTTP 500)", lead.Failed},
		"tried":    {"fake: storing: unavailable (HTTP 500)", lead.Failed},
		"chosen":   {"a test address", lead.NotSent},
	} {
		if d := q.becomesAt(t, id, lead.VisitorMail, lead.NotSent); d.Reason != want.reason || d.FinishedAt.IsZero() {
			t.Errorf("%s: %+v, want the reason %q", id, d, want.reason)
		}
		q.becomesAt(t, id, lead.SalesMail, want.sales)
	}
	if l, err := q.store.Lead(t.Context(), "chosen"); err != nil || l.Progress != lead.Delivered {
		t.Errorf("the lead is %s, %v", l.Progress, err)
	}
}

// A delivery that is postponed waits alone, and its attempts do not count.
func TestPostponed(t *testing.T) {
	t.Parallel()
	q := openMails(t, func(_ context.Context, id string, _ int) error {
		if id == "waits" {
			return &queue.PostponedError{Until: time.Now().Add(time.Hour), Reason: "too many"}
		}
		return nil
	})
	q.add(t, "waits", "goes")
	q.becomesAt(t, "goes", lead.VisitorMail, lead.Delivered)
	eventually(t, "it waits", func() bool { return q.the(t, "waits", lead.VisitorMail).Paused == "too many" })
	if d := q.the(t, "waits", lead.VisitorMail); d.Attempts != 0 || d.State != lead.Pending {
		t.Errorf("it waits as %+v", d)
	}
}
