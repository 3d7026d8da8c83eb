package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// fromNetwork submits a lead from a network.
func fromNetwork(t *testing.T, db Store, n int, network string) string {
	t.Helper()
	sub := Lead(n)
	sub.Network = network
	submit(t, db, sub)
	return sub.Lead.ID
}

// An address gets three mails a day, even with concurrent claims; a retried mail counts
// once.
func mailsPerAddress(t *testing.T, s Subject) {
	dbs := []Store{s.MustOpen(t, nil), s.MustOpen(t, nil)}
	now := When()
	for n := range 12 {
		fromNetwork(t, dbs[0], n, "")
	}

	var allowed atomic.Int64
	concurrently(12, func(n int) {
		claim := store.MailClaim{LeadID: fmt.Sprintf("id-%06d", n), Address: "ana", Now: now}
		for range 2 {
			over, _, err := dbs[n%2].ClaimMail(t.Context(), claim)
			ok(t, err)
			if over == "" {
				allowed.Add(1)
			}
		}
	})
	if got := allowed.Load(); got != 2*store.MailsPerAddress {
		t.Errorf("%d claims were allowed, want %d for each of two tries", got, store.MailsPerAddress)
	}

	for sending, tt := range []struct {
		after time.Duration
		want  lead.NoMailReason
	}{{store.AddressWindow - time.Second, lead.AddressLimit}, {store.AddressWindow, ""}} {
		claim := store.MailClaim{LeadID: "id-000001", Sending: int64(sending + 1), Address: "ana", Now: now.Add(tt.after)}
		if over, _, err := dbs[0].ClaimMail(t.Context(), claim); over != tt.want || err != nil {
			t.Errorf("after %v: %q, %v, want %q", tt.after, over, err, tt.want)
		}
	}
}

// Mails beyond a network's limit each wait for a slot of their own, up to a maximum
// number. Mails of other networks, or of no network, do not wait until the service's
// limit is reached.
func mailsPerNetwork(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	perHour := 1000
	claim := func(id string, at time.Time) (lead.NoMailReason, time.Time) {
		t.Helper()
		c := store.MailClaim{LeadID: id, Address: id, PerHour: perHour, Now: at}
		over, until, err := db.ClaimMail(t.Context(), c)
		ok(t, err)
		return over, until
	}

	began := When()
	for n := range store.MailsPerNetwork {
		id := fromNetwork(t, db, n, "office")
		if over, until := claim(id, began.Add(time.Duration(n)*time.Minute)); over != "" {
			t.Fatalf("mail %d waits until %v", n, until)
		}
	}

	now := began.Add(30 * time.Minute)
	for n := range store.MailsWaiting {
		slot := began.Add(time.Duration(n%store.MailsPerNetwork) * time.Minute).
			Add(store.MailWindow * time.Duration(1+n/store.MailsPerNetwork))
		id := fromNetwork(t, db, 100+n, "office")
		if over, until := claim(id, now); over != lead.NetworkLimit || !until.Equal(slot) {
			t.Errorf("mail %d waits until %v, %q, want %v", n, until, over, slot)
		}
	}
	waiting, tooMany := Lead(100).Lead.ID, fromNetwork(t, db, 300, "office")
	for _, tt := range []struct {
		id   string
		at   time.Time
		want lead.NoMailReason
	}{
		{tooMany, now, lead.WaitingLimit},
		{waiting, now, lead.NetworkLimit},
		{fromNetwork(t, db, 400, "home"), now, ""},
		{fromNetwork(t, db, 401, ""), now, ""},
		{waiting, began.Add(store.MailWindow), ""},
	} {
		if over, until := claim(tt.id, tt.at); over != tt.want {
			t.Errorf("%s at %v: %q, until %v, want %q", tt.id, tt.at, over, until, tt.want)
		}
	}
	if n, networks, err := db.MailNetworks(t.Context()); err != nil || n != 72 || networks != 2 {
		t.Errorf("%d leads of %d networks, %v", n, networks, err)
	}

	perHour = 3
	if over, until := claim(fromNetwork(t, db, 500, "bar"), now); over != lead.ServiceLimit || !until.After(now) {
		t.Errorf("beyond the limit of the service: %v, %q", until, over)
	}
	perHour = 0
	if over, _ := claim(tooMany, now); over != "" {
		t.Errorf("without limits: %q", over)
	}
}

// The hashes for mail limits are removed with their lead, and after some time unless a
// mail still needs them.
func mailsPruned(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	for n := range 3 {
		fromNetwork(t, db, n, "office")
	}
	ok(t, db.Erase(t.Context(), "id-000000"))
	later := When().Add(25 * time.Hour)
	_, _, err := db.ClaimMail(t.Context(), store.MailClaim{LeadID: "id-000001", Address: "ana", Now: later})
	ok(t, err)
	n, err := db.PruneMails(t.Context(), later.Add(-24*time.Hour))
	remaining, _, err2 := db.MailNetworks(t.Context())
	if err != nil || err2 != nil || n != 1 || remaining != 1 {
		t.Errorf("%d rows were removed, %v, and %d remain, %v, want one of each", n, err, remaining, err2)
	}
}

// Mails to visitors are stuck if those to three domains have waited for the mail server for
// an hour or were refused within a day, or if one has waited for six hours. A mail that
// waits because of our own limits, or until it is repeated, is not.
func mailsStuck(t *testing.T, s Subject) {
	type mail struct {
		to    string
		since time.Duration // before now
		state lead.DeliveryState
		code  lead.NoMailReason
	}
	waits := func(to string, since time.Duration) mail { return mail{to, since, lead.Retrying, ""} }
	refused := func(to string, since time.Duration) mail { return mail{to, since, lead.NotSent, lead.MailRefused} }
	db, now := s.MustOpen(t, &Jobs{}), When().Add(30*24*time.Hour)
	const hour, more = time.Hour, time.Hour + time.Minute

	for n, c := range []struct {
		mails []mail
		want  int
		since time.Duration
	}{
		{nil, 0, 0},
		{[]mail{waits("a@one.test", more), waits("b@two.test", more), waits("c@three.test", 2*hour)}, 3, 2 * hour},
		{[]mail{waits("a@one.test", more), waits("b@two.test", more), waits("c@three.test", hour-time.Minute)}, 0, 0},
		{[]mail{waits("a@one.test", more), waits("b@one.test", more), waits("c@two.test", 5*hour)}, 0, 0},
		{[]mail{waits("a@one.test", 6*hour+time.Minute)}, 1, 6*hour + time.Minute},
		{[]mail{waits("a@one.test", 6*hour-time.Minute)}, 0, 0},
		{[]mail{waits("a@one.test", -hour), waits("b@two.test", -hour), waits("c@three.test", -6*hour)}, 0, 0}, // our limits
		{[]mail{refused("a@one.test", more), refused("b@two.test", 20*hour), waits("c@three.test", more)}, 3, 20 * hour},
		{[]mail{refused("a@one.test", 0), refused("b@two.test", time.Minute), refused("c@three.test", hour)}, 3, hour},
		{[]mail{refused("a@one.test", more), refused("b@two.test", 25*hour), waits("c@three.test", more)}, 0, 0},
		{[]mail{{"a@one.test", more, lead.NotSent, lead.NoMailbox}, {"b@two.test", more, lead.Delivered, ""}, waits("c@three.test", more)}, 0, 0},
	} {
		var ids []string
		var newest lead.Delivery
		for i, m := range c.mails {
			of := Lead(100*n + i)
			of.Lead.Contact.Email = m.to
			submit(t, db, of)
			ids = append(ids, of.Lead.ID)
			ok(t, db.ResendLead(t.Context(), of.Lead.ID, lead.VisitorMail, ""))
			d := theDelivery(t, db, of.Lead.ID, lead.VisitorMail)
			d.DueAt, d.State, d.Code = now.Add(-m.since), m.state, m.code
			if m.state.Ended() {
				d.FinishedAt = d.DueAt
			}
			ok(t, db.EndAttempt(t.Context(), d))
			if !newest.DueAt.After(d.DueAt) {
				newest = d
			}
		}

		stuck, err := db.StuckMails(t.Context(), now)
		if err != nil || stuck.Number != c.want || c.want > 0 && (!stuck.Since.Equal(now.Add(-c.since)) || stuck.Newest != newest.ID) {
			t.Errorf("%+v: %+v, %v, want %d since %v", c.mails, stuck, err, c.want, c.since)
		}
		for _, id := range ids {
			ok(t, db.Erase(t.Context(), id))
		}
	}
}
