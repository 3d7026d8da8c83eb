package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// fromNetwork submits a lead that came from a network.
func fromNetwork(t *testing.T, db Store, n int, network string) string {
	t.Helper()
	sub := Lead(n)
	sub.Network = network
	if _, created, err := db.Submit(t.Context(), sub); err != nil || !created {
		t.Fatal(created, err)
	}
	return sub.Lead.ID
}

// An address gets three mails a day, however many ask at once; a mail that is tried again
// counts once.
func mailsPerAddress(t *testing.T, s Subject) {
	dbs := []Store{s.MustOpen(t, nil), s.MustOpen(t, nil)}
	now := When()
	for n := range 12 {
		fromNetwork(t, dbs[0], n, "")
	}

	var allowed atomic.Int64
	together(12, func(n int) {
		claim := store.MailClaim{LeadID: fmt.Sprintf("id-%06d", n), Address: "ana", Now: now}
		for range 2 {
			over, _, err := dbs[n%2].ClaimMail(t.Context(), claim)
			if err == nil && over == "" {
				allowed.Add(1)
			} else if over != store.AddressLimit {
				t.Errorf("mail %d: %q, %v", n, over, err)
			}
		}
	})
	if got := allowed.Load(); got != 2*store.MailsPerAddress {
		t.Errorf("%d claims were allowed, want %d for each of two tries", got, store.MailsPerAddress)
	}

	next := store.MailClaim{LeadID: "id-000001", Sending: 7, Address: "ana"}
	for _, want := range []store.MailLimit{store.AddressLimit, ""} {
		if next.Now = now.Add(store.AddressWindow); want != "" {
			next.Now = next.Now.Add(-time.Second)
		}
		if over, _, err := dbs[0].ClaimMail(t.Context(), next); over != want || err != nil {
			t.Errorf("at %v: %q, %v, want %q", next.Now, over, err, want)
		}
	}
}

// Mails beyond the limit of a network wait, each for a slot of its own, and not too many of
// them. Those of other networks and of none do not, up to the limit of the service.
func mailsPerNetwork(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	perHour := 1000
	claim := func(id string, at time.Time) (store.MailLimit, time.Time) {
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
	var waiting []string
	for n := range store.MailsWaiting {
		waiting = append(waiting, fromNetwork(t, db, 100+n, "office"))
		slot := began.Add(time.Duration(n%store.MailsPerNetwork) * time.Minute).
			Add(store.MailWindow * time.Duration(1+n/store.MailsPerNetwork))
		if over, until := claim(waiting[n], now); over != store.NetworkLimit || !until.Equal(slot) {
			t.Errorf("mail %d waits until %v, %q, want %v", n, until, over, slot)
		}
	}
	tooMany := fromNetwork(t, db, 300, "office")
	if over, until := claim(tooMany, now); over != store.WaitingLimit || !until.IsZero() {
		t.Errorf("one more than may wait: %v, %q", until, over)
	}
	if over, _ := claim(waiting[0], now); over != store.NetworkLimit {
		t.Errorf("a mail that waits already: %q", over)
	}

	for n, network := range []string{"home", ""} {
		if over, until := claim(fromNetwork(t, db, 400+n, network), now); over != "" {
			t.Errorf("a mail of the network %q waits until %v", network, until)
		}
	}
	if over, until := claim(waiting[0], began.Add(store.MailWindow)); over != "" {
		t.Errorf("in its slot it waits until %v", until)
	}
	if n, networks, err := db.MailNetworks(t.Context()); err != nil || n != 72 || networks != 2 {
		t.Errorf("%d leads of %d networks, %v", n, networks, err)
	}

	perHour = 3
	if over, until := claim(fromNetwork(t, db, 500, "bar"), now); over != store.ServiceLimit || !until.After(now) {
		t.Errorf("beyond the limit of the service: %v, %q", until, over)
	}
	perHour = 0
	for _, id := range []string{tooMany, fromNetwork(t, db, 600, "bar")} {
		if over, _ := claim(id, now); over != "" {
			t.Errorf("without limits: %q", over)
		}
	}
}

// The hashes go with their lead, and with time unless a mail still waits.
func mailsForgotten(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	for n := range 3 {
		fromNetwork(t, db, n, "office")
	}
	ok(t, db.Erase(t.Context(), "id-000000"))
	later := When().Add(25 * time.Hour)
	claim := store.MailClaim{LeadID: "id-000001", Address: "ana", Now: later}
	if _, _, err := db.ClaimMail(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if n, err := db.PruneMails(t.Context(), later.Add(-24*time.Hour)); err != nil || n != 1 {
		t.Errorf("%d rows were removed, %v, want that of the one that nothing needed", n, err)
	}
	if n, _, err := db.MailNetworks(t.Context()); err != nil || n != 1 {
		t.Errorf("%d leads are left, %v", n, err)
	}
}
