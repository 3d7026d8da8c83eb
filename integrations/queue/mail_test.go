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

// mails is a target that keeps what its attempts were.
type mails struct {
	mu       sync.Mutex
	sendings []int64
	send     func(ctx context.Context, t *queue.Try) error
}

func (m *mails) try(ctx context.Context, t *queue.Try) error {
	m.mu.Lock()
	m.sendings = append(m.sendings, t.Sending())
	send := m.send
	m.mu.Unlock()
	return send(ctx, t)
}

func (m *mails) become(send func(ctx context.Context, t *queue.Try) error) {
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
func mailOptions(visitor, sales *mails, attempts int) queue.Options {
	o := options(nil)
	o.Targets = []queue.TargetConfig{
		{Name: queue.VisitorMail, Send: visitor.try, MaxWorkers: 4, MaxAttempts: attempts},
		{Name: queue.SalesMail, Send: sales.try, MaxWorkers: 4, MaxAttempts: attempts},
	}
	return o
}

func taken(context.Context, *queue.Try) error { return nil }

// mailOf waits for the state of a mail.
func (s *subject) mailOf(t *testing.T, id string, target queue.Target, want queue.State) (d queue.Delivery) {
	t.Helper()
	eventually(t, id+" is "+string(want), func() bool {
		list, err := s.List(context.WithoutCancel(t.Context()), queue.Filter{
			Leads:  []string{id},
			Target: target,
			States: []queue.State{want},
		})
		if err != nil || len(list) > 1 {
			t.Fatalf("deliveries of %s: %+v, %v", id, list, err)
		}
		if len(list) == 1 {
			d = list[0]
		}
		return len(list) == 1
	})
	return d
}

// A visitor's mail never fails: rejected, or tried too often, it is not sent, and holds
// back neither its lead's erasure nor an operator's attention.
func TestVisitorMailNeverFails(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		visitor, sales := &mails{}, &mails{}
		fails := func(_ context.Context, try *queue.Try) error {
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
		q := db(t, mailOptions(visitor, sales, 2))
		q.start(t)
		q.add(t, "rejected", "tried", "chosen")

		for id, want := range map[string]string{
			"rejected": "fake: storing: rejected (HTTP 500)",
			"tried":    "fake: storing: unavailable (HTTP 500)",
			"chosen":   "a test address",
		} {
			if d := q.mailOf(t, id, queue.VisitorMail, queue.NotSent); d.Reason != want || d.FinishedAt.IsZero() {
				t.Errorf("%s: %+v, want the reason %q", id, d, want)
			}
		}
		visitor.become(taken)
		if err := q.Resend(t.Context(), "chosen", queue.VisitorMail); err != nil {
			t.Fatal(err)
		}
		q.mailOf(t, "chosen", queue.VisitorMail, queue.Delivered)
		q.mailOf(t, "rejected", queue.SalesMail, queue.Failed)
		q.mailOf(t, "tried", queue.SalesMail, queue.Failed)
		q.mailOf(t, "chosen", queue.SalesMail, queue.NotSent)
		for _, d := range q.records.all() {
			if failed := d.Target == "sales_mail" && d.LeadID != "chosen"; failed != (d.Progress == lead.Failed) {
				t.Errorf("recorded is %+v", d)
			}
		}
		list, err := q.List(t.Context(), queue.Filter{Target: queue.VisitorMail, States: []queue.State{queue.Failed}})
		if err != nil || len(list) != 0 {
			t.Errorf("failed are %+v, %v", list, err)
		}
	})
}

// All attempts of one sending have its number, and one that an operator asks for has
// another, also if the delivery was deleted in the meantime.
func TestSendings(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		visitor, sales := &mails{}, &mails{}
		calls := 0
		visitor.become(func(context.Context, *queue.Try) error {
			if calls++; calls < 3 {
				return trouble(upstream.Unavailable)
			}
			return nil
		})
		sales.become(taken)
		q := db(t, mailOptions(visitor, sales, 10))
		q.start(t)
		q.add(t, "one")
		q.mailOf(t, "one", queue.VisitorMail, queue.Delivered)
		if got := visitor.seen(); !slices.Equal(got, []int64{0, 0, 0}) {
			t.Errorf("the attempts were of the sendings %v", got)
		}

		visitor.become(taken)
		for range 2 {
			if err := q.Resend(t.Context(), "one", queue.VisitorMail); err != nil {
				t.Fatal(err)
			}
			eventually(t, "it is sent again", func() bool { return len(visitor.seen()) > 0 })
			q.mailOf(t, "one", queue.VisitorMail, queue.Delivered)
		}
		eventually(t, "both", func() bool { return len(visitor.seen()) == 2 })
		if got := visitor.seen(); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("the operator's sendings were %v", got)
		}

		if n, _ := q.records.remove(t, "one"); n != 2 {
			t.Fatalf("removed %d", n)
		}
		visitor.become(taken)
		if err := q.Resend(t.Context(), "one", queue.VisitorMail); err != nil {
			t.Fatal(err)
		}
		if q.mailOf(t, "one", queue.VisitorMail, queue.Delivered); visitor.seen()[0] < 1e9 {
			t.Errorf("the sending of a new delivery is %v", visitor.seen())
		}
	})
}

// What has arrived is not repeated by later attempts, even if a process was killed before
// it could report.
func TestParts(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		visitor, sales := &mails{}, &mails{}
		visitor.become(taken)
		var first, second []bool
		arrived := make(chan struct{})
		sales.become(func(ctx context.Context, try *queue.Try) error {
			first = append(first, try.Arrived("a"), try.Arrived("b"))
			if err := try.Arrive(ctx, "a"); err != nil {
				t.Error(err)
			}
			close(arrived)
			<-ctx.Done()
			return ctx.Err()
		})
		q := db(t, mailOptions(visitor, sales, 10))
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		q.add(t, "one")
		<-arrived
		sales.become(func(_ context.Context, try *queue.Try) error {
			second = append(second, try.Arrived("a"), try.Arrived("b"))
			return nil
		})
		q.stop(t, 50*time.Millisecond)

		again := db(t, mailOptions(visitor, sales, 10))
		again.start(t)
		again.mailOf(t, "one", queue.SalesMail, queue.Delivered)
		if !slices.Equal(first, []bool{false, false}) || !slices.Equal(second, []bool{true, false}) {
			t.Errorf("arrived: %v, then %v", first, second)
		}
	})
}

// A delivery that is postponed waits alone, and its attempts do not count. A server that
// refuses the service makes all of its target wait.
func TestPostponed(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		visitor, sales := &mails{}, &mails{}
		visitor.become(func(_ context.Context, try *queue.Try) error {
			if try.ID == "waits" {
				return &queue.PostponedError{Until: time.Now().Add(time.Hour), Reason: "too many"}
			}
			return nil
		})
		refusal := trouble(upstream.Refused)
		refusal.Pause = time.Hour
		sales.become(func(context.Context, *queue.Try) error { return refusal })
		o := mailOptions(visitor, sales, 1)
		o.RetryMax = time.Minute
		q := db(t, o)
		q.start(t)
		q.add(t, "waits", "goes")
		q.mailOf(t, "goes", queue.VisitorMail, queue.Delivered)
		for target, id := range map[queue.Target]string{queue.VisitorMail: "waits", queue.SalesMail: "goes"} {
			eventually(t, id+" waits", func() bool {
				return q.mailOf(t, id, target, queue.Pending).Paused != ""
			})
		}
		if d := q.mailOf(t, "waits", queue.VisitorMail, queue.Pending); d.Paused != "too many" || d.Attempts != 0 {
			t.Errorf("it waits as %+v", d)
		}
	})
}
