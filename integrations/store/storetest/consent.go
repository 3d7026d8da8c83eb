package storetest

import (
	"errors"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// A withdrawal redelivers all leads of the address in its transaction, except for those
// in review. A lead is not pruned until that delivery has arrived.
func withdrawals(t *testing.T, s Subject) {
	jobs := &Jobs{}
	db := s.MustOpen(t, jobs)
	const email = "ana@example.com"
	for i := range 4 {
		n := Lead(i)
		n.Lead.Contact.Email, n.Lead.InReview = email, i == 3
		n.Lead.Consents = []lead.Consent{{Purpose: "news", Given: i > 0}, {Purpose: "calls", Given: i == 1}}
		submit(t, db, n)
	}
	for i := range 3 {
		end(t, db, Lead(i).Lead.ID, lead.Delivered)
	}

	withdraw := func(purpose string, leads, deleted int, want error) {
		t.Helper()
		w, err := db.WithdrawConsent(t.Context(), "ANA@example.com", purpose, When(), entry(0, ""))
		if w != (store.Withdrawal{Leads: leads, Deleted: deleted}) || !errors.Is(err, want) {
			t.Errorf("withdrawing %s: %+v, %v, want %d, %d, %v", purpose, w, err, leads, deleted, want)
		}
	}

	failed := errors.New("the queue fails")
	jobs.Fail = func(string) error { return failed }
	withdraw("news", 0, 0, failed)
	s.WantWaiting(t)
	wantEntries(t, db, 0)

	jobs.Fail = nil
	withdraw("news", 3, 0, nil)
	withdraw("news", 0, 0, store.ErrNotFound)
	s.WantWaiting(t, Lead(1).Lead.ID, Lead(2).Lead.ID)
	wantEntries(t, db, 3)
	for i := range 3 {
		of := store.AuditFilter{Leads: []string{Lead(i + 1).Lead.ID}, Limit: 10}
		if entries, err := db.AuditEntries(t.Context(), of); err != nil || len(entries) != 1 {
			t.Errorf("the history of lead %d has %+v, %v, want the withdrawal", i+1, entries, err)
		}
	}

	// Until those deliveries have arrived, only the lead without a withdrawal can be
	// deleted.
	prune := func(want int64) {
		t.Helper()
		if n, err := db.PruneLeads(t.Context(), When().AddDate(1, 0, 0)); err != nil || n != want {
			t.Errorf("%d leads were deleted, %v, want %d", n, err, want)
		}
	}
	prune(1)
	for _, target := range []lead.Target{lead.CMS, lead.CRM} {
		endAt(t, db, Lead(1).Lead.ID, target, lead.Delivered)
	}
	prune(1)
	withdraw("calls", 0, 1, nil)
	wantEntries(t, db, 4)
}
