package storetest

import (
	"errors"
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
			until, err := dbs[n%2].ClaimMail(t.Context(), claim)
			if err == nil && until.IsZero() {
				allowed.Add(1)
			} else if !errors.Is(err, store.ErrTooManyMails) {
				t.Errorf("mail %d: %v, %v", n, until, err)
			}
		}
	})
	if got := allowed.Load(); got != 2*store.MailsPerAddress {
		t.Errorf("%d claims were allowed, want %d for each of two tries", got, store.MailsPerAddress)
	}

	next := store.MailClaim{LeadID: "id-000001", Sending: 7, Address: "ana"}
	for _, want := range []error{store.ErrTooManyMails, nil} {
		if next.Now = now.Add(store.AddressWindow); want != nil {
			next.Now = next.Now.Add(-time.Second)
		}
		if _, err := dbs[0].ClaimMail(t.Context(), next); !errors.Is(err, want) {
			t.Errorf("at %v: %v, want %v", next.Now, err, want)
		}
	}
}

// Mails beyond the limit of a network wait, those of other networks and of none do not.
func mailsPerNetwork(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	claim := func(id string, at time.Time) time.Time {
		until, err := db.ClaimMail(t.Context(), store.MailClaim{LeadID: id, Address: id, Now: at})
		if err != nil {
			t.Fatal(err)
		}
		return until
	}

	began := When()
	for n := range store.MailsPerNetwork {
		id := fromNetwork(t, db, n, "office")
		if until := claim(id, began.Add(time.Duration(n)*time.Minute)); !until.IsZero() {
			t.Fatalf("mail %d waits until %v", n, until)
		}
	}
	late := fromNetwork(t, db, 100, "office")
	now := began.Add(30 * time.Minute)
	for range 2 {
		if until := claim(late, now); !until.Equal(began.Add(store.NetworkWindow)) {
			t.Errorf("the next mail waits until %v, want an hour after %v", until, began)
		}
	}
	for n, network := range []string{"home", ""} {
		if until := claim(fromNetwork(t, db, 200+n, network), now); !until.IsZero() {
			t.Errorf("a mail of the network %q waits until %v", network, until)
		}
	}
	if until := claim(late, began.Add(store.NetworkWindow)); !until.IsZero() {
		t.Errorf("after an hour it waits until %v", until)
	}
	if n, networks, err := db.MailNetworks(t.Context()); err != nil || n != store.MailsPerNetwork+2 || networks != 2 {
		t.Errorf("%d submissions of %d networks, %v", n, networks, err)
	}
}

// The hashes go with their lead, and with time unless a mail still waits.
func mailsForgotten(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	for n := range 3 {
		fromNetwork(t, db, n, "office")
	}
	if err := db.Erase(t.Context(), "id-000000"); err != nil {
		t.Fatal(err)
	}
	later := When().Add(25 * time.Hour)
	claim := store.MailClaim{LeadID: "id-000001", Address: "ana", Now: later}
	if _, err := db.ClaimMail(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if n, err := db.PruneMails(t.Context(), later.Add(-24*time.Hour)); err != nil || n != 1 {
		t.Errorf("%d rows were removed, %v, want that of the one that nothing needed", n, err)
	}
	if n, _, err := db.MailNetworks(t.Context()); err != nil || n != 1 {
		t.Errorf("%d submissions are left, %v", n, err)
	}
}
