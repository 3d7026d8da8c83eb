package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

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
		want  store.MailLimit
	}{{store.AddressWindow - time.Second, store.AddressLimit}, {store.AddressWindow, ""}} {
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
	for n := range store.MailsWaiting {
		slot := began.Add(time.Duration(n%store.MailsPerNetwork) * time.Minute).
			Add(store.MailWindow * time.Duration(1+n/store.MailsPerNetwork))
		id := fromNetwork(t, db, 100+n, "office")
		if over, until := claim(id, now); over != store.NetworkLimit || !until.Equal(slot) {
			t.Errorf("mail %d waits until %v, %q, want %v", n, until, over, slot)
		}
	}
	waiting, tooMany := Lead(100).Lead.ID, fromNetwork(t, db, 300, "office")
	for _, tt := range []struct {
		id   string
		at   time.Time
		want store.MailLimit
	}{
		{tooMany, now, store.WaitingLimit},
		{waiting, now, store.NetworkLimit},
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
	if over, until := claim(fromNetwork(t, db, 500, "bar"), now); over != store.ServiceLimit || !until.After(now) {
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
