package queue_test

import (
	"context"
	"fmt"
	"sync"
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
		case "refused":
			return &queue.UnsentError{Code: lead.MailRefused, Err: failure(upstream.Rejected)}
		case "waits":
			return &queue.UnsentError{Until: time.Now().Add(time.Hour), Code: lead.ServiceLimit}
		}
		return &queue.UnsentError{Code: lead.TestAddress}
	}).send
	o := options(nil)
	o.Targets = nil
	for _, target := range []lead.Target{lead.VisitorMail, lead.SalesMail} {
		o.deliver(send, queue.TargetConfig{Name: target, MaxWorkers: 4})
	}
	q := onSQLite(t)(t, o)
	q.add(t, "waits", "rejected", "tried", "refused", "chosen")
	q.allow(t, 2)
	q.start(t)

	for id, want := range map[string]struct {
		code   lead.NoMailReason
		reason string
		sales  lead.DeliveryState
	}{
		"rejected": {lead.MailFailed, "fake: storing: rejected (HTTP 500)", lead.Failed},
		"tried":    {lead.MailRefused, "fake: storing: unavailable (HTTP 500)", lead.Failed},
		"refused":  {lead.MailRefused, "fake: storing: rejected (HTTP 500)", lead.NotSent},
		"chosen":   {lead.TestAddress, lead.TestAddress.Words(), lead.NotSent},
	} {
		d := q.waitForTarget(t, id, lead.VisitorMail, lead.NotSent)
		if d.Code != want.code || d.Why() != want.reason || d.FinishedAt.IsZero() {
			t.Errorf("%s: %+v, want %s, %q", id, d, want.code, want.reason)
		}
		q.waitForTarget(t, id, lead.SalesMail, want.sales)
	}
	if l, err := q.Store.Lead(t.Context(), "chosen"); err != nil || l.Progress != lead.Delivered {
		t.Errorf("the lead is %s, %v", l.Progress, err)
	}
	if d := q.delivery(t, "waits", lead.VisitorMail); d.Code != lead.ServiceLimit || !d.DueAt.Equal(d.NextAt) || d.Attempts != 0 || d.State != lead.Pending {
		t.Errorf("the postponed mail is %+v", d)
	}
}

// script is what a mail server does with each copy of a mail: a accepts it, u is silent
// after the data, l refuses it for now and x forever, n is unreachable before the data, p
// makes the sender panic after the data.
type script struct {
	mu    sync.Mutex
	steps map[string]string
	sent  map[string]int // copies that the server may have accepted
}

func (s *script) send(ctx context.Context, try *queue.Try) error {
	return try.Send(ctx, "part", func(handOver func() error) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		steps := s.steps[try.ID]
		if steps == "" {
			return fmt.Errorf("an attempt too many of %s", try.ID)
		}
		s.steps[try.ID] = steps[1:]
		if steps[0] == 'n' {
			return failure(upstream.Unavailable)
		}
		if err := handOver(); err != nil {
			return err
		}
		s.sent[try.ID]++

		switch steps[0] {
		case 'u':
			return fmt.Errorf("no response: %w", lead.ErrUnconfirmed)
		case 'l':
			s.sent[try.ID]--
			return failure(upstream.Unavailable)
		case 'x':
			s.sent[try.ID]--
			return failure(upstream.Rejected)
		case 'p':
			panic("after the data")
		}
		return nil
	})
}

// A mail that is not confirmed is repeated after one hour and after six more, and then ends
// as unconfirmed; an operator may repeat it earlier, but not more often. A refused copy did
// not arrive, so it does not count.
func TestUnconfirmedMails(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db database) {
		rows := map[string]struct {
			steps string
			state lead.DeliveryState
			sent  int
			waits int // for a repetition
		}{
			"at-once":        {"a", lead.Delivered, 1, 0},
			"second-copy":    {"ua", lead.Delivered, 2, 1},
			"third-copy":     {"uua", lead.Delivered, 3, 2},
			"never":          {"uuu", lead.Unconfirmed, 3, 2},
			"graylisted":     {"llla", lead.Delivered, 1, 0},
			"unreachable":    {"nna", lead.Delivered, 1, 0},
			"mixed":          {"nulunu", lead.Unconfirmed, 3, 2},
			"late-refusals":  {"ulllla", lead.Delivered, 2, 1},
			"rejected":       {"x", lead.Failed, 0, 0},
			"then-rejected":  {"ux", lead.Failed, 1, 1},
			"panics":         {"pa", lead.Delivered, 2, 1},
			"panics-3-times": {"ppp", lead.Unconfirmed, 3, 2},
		}
		server := &script{steps: map[string]string{}, sent: map[string]int{}}
		o := setup{Options: queue.Options{RetryMax: time.Millisecond}}
		o.deliver(server.send, queue.TargetConfig{Name: lead.SalesMail, MaxWorkers: 16})
		q := db(t, o)
		for id, row := range rows {
			server.steps[id] = row.steps
			q.add(t, id)
		}
		q.start(t)

		var group sync.WaitGroup
		for id, row := range rows {
			group.Go(func() {
				for n := range row.waits {
					var d lead.Delivery
					eventually(t, id+" waits for a repetition", func() bool {
						d = q.delivery(t, id, lead.SalesMail)
						return d.Code != "" && d.State != lead.Running && d.NextAt.After(time.Now())
					})
					wait := []time.Duration{time.Hour, 6 * time.Hour}[n]
					if got := time.Until(d.NextAt); got > wait || got < wait-10*time.Minute {
						t.Errorf("%s: repetition %d follows after %v, want %v", id, n+1, got, wait)
					}
					if d.Attempts == 0 {
						t.Errorf("%s: the attempt that handed it over does not count", id)
					}
					if err := q.Store.RetryDelivery(t.Context(), d.ID); err != nil {
						t.Error(err)
					}
				}
				d := q.waitForTarget(t, id, lead.SalesMail, row.state)
				server.mu.Lock()
				defer server.mu.Unlock()
				if server.sent[id] != row.sent || server.steps[id] != "" {
					t.Errorf("%s: %d copies, want %d; not done: %q", id, server.sent[id], row.sent, server.steps[id])
				}
				if row.state == lead.Unconfirmed && (d.Code != lead.MailUnconfirmed || d.FinishedAt.IsZero()) {
					t.Errorf("%s is %+v", id, d)
				}
			})
		}
		group.Wait()
	})
}
