package queue_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
)

// mails is a target that keeps which sendings its attempts were of.
type mails struct {
	mu       sync.Mutex
	sendings []int64
	send     func(try *queue.Try) error
}

func (m *mails) try(_ context.Context, t *queue.Try) error {
	m.mu.Lock()
	m.sendings = append(m.sendings, t.Sending())
	send := m.send
	m.mu.Unlock()
	return send(t)
}

func (m *mails) become(send func(try *queue.Try) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.send, m.sendings = send, nil
}

func (m *mails) seen() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.sendings)
}

// mailOptions deliver mails only.
func mailOptions(visitor, sales *mails, attempts int) setup {
	o := options(nil)
	o.Targets = nil
	o.deliver(visitor.try, queue.TargetConfig{Name: lead.VisitorMail, MaxWorkers: 4, MaxAttempts: attempts})
	o.deliver(sales.try, queue.TargetConfig{Name: lead.SalesMail, MaxWorkers: 4, MaxAttempts: attempts})
	return o
}

func taken(*queue.Try) error { return nil }

// A visitor's mail never fails: rejected, or tried too often, it is not sent, and holds
// back neither its lead's erasure nor an operator's attention. All attempts of one sending
// have its number, and one that an operator asks for has another.
func TestVisitorMailNeverFails(t *testing.T) {
	t.Parallel()
	visitor, sales := &mails{}, &mails{}
	fails := func(try *queue.Try) error {
		switch try.ID {
		case "rejected":
			return trouble(upstream.Rejected)
		case "tried":
			return trouble(upstream.Unavailable)
		}
		return &queue.NotSentError{Reason: "a test address"}
	}
	visitor.become(fails)
	sales.become(fails)
	q := onSQLite(t).open(t, mailOptions(visitor, sales, 2))
	q.start(t)
	q.add(t, "rejected", "tried", "chosen")

	for id, want := range map[string]string{
		"rejected": "fake: storing: rejected (HTTP 500)",
		"tried":    "fake: storing: unavailable (HTTP 500)",
		"chosen":   "a test address",
	} {
		if d := q.becomesAt(t, id, lead.VisitorMail, lead.NotSent); d.Reason != want || d.FinishedAt.IsZero() {
			t.Errorf("%s: %+v, want the reason %q", id, d, want)
		}
	}
	if got := visitor.seen(); !slices.Equal(got, []int64{0, 0, 0, 0}) {
		t.Errorf("the attempts were of the sendings %v", got)
	}
	for id, want := range map[string]lead.DeliveryState{"rejected": lead.Failed, "tried": lead.Failed, "chosen": lead.NotSent} {
		q.becomesAt(t, id, lead.SalesMail, want)
	}

	visitor.become(taken)
	for range 2 {
		if err := q.store.ResendLead(t.Context(), "chosen", lead.VisitorMail, ""); err != nil {
			t.Fatal(err)
		}
		q.becomesAt(t, "chosen", lead.VisitorMail, lead.Delivered)
	}
	if got := visitor.seen(); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("the operator's sendings were %v", got)
	}
	if l, err := q.store.Lead(t.Context(), "chosen"); err != nil || l.Progress != lead.Delivered {
		t.Errorf("the lead is %s, %v", l.Progress, err)
	}
}

// A delivery that is postponed waits alone, and its attempts do not count. A server that
// refuses the service makes all of its target wait.
func TestPostponed(t *testing.T) {
	t.Parallel()
	visitor, sales := &mails{}, &mails{}
	visitor.become(func(try *queue.Try) error {
		if try.ID == "waits" {
			return &queue.PostponedError{Until: time.Now().Add(time.Hour), Reason: "too many"}
		}
		return nil
	})
	refusal := trouble(upstream.Refused)
	refusal.Pause = time.Hour
	sales.become(func(*queue.Try) error { return refusal })
	o := mailOptions(visitor, sales, 1)
	o.RetryMax = time.Minute
	q := onSQLite(t).open(t, o)
	q.start(t)
	q.add(t, "waits", "goes")
	q.becomesAt(t, "goes", lead.VisitorMail, lead.Delivered)
	for target, id := range map[lead.Target]string{lead.VisitorMail: "waits", lead.SalesMail: "goes"} {
		eventually(t, id+" waits", func() bool { return q.the(t, id, target).Paused != "" })
	}
	if d := q.the(t, "waits", lead.VisitorMail); d.Paused != "too many" || d.Attempts != 0 || d.State != lead.Pending {
		t.Errorf("it waits as %+v", d)
	}
}
