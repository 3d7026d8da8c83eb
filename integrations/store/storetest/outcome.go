package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// outcomes: what an operator says stays, and the CRM is heard about the newest lead, if it
// says something later than the lead and everything before.
func outcomes(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	for i, held := range []bool{false, false, true} { // of one person, the last in review
		n := Lead(i)
		n.Lead.Contact.Email, n.Lead.InReview = "Ana@Example.com", held
		n.Lead.SubmittedAt = When().Add(time.Duration(i) * time.Hour)
		submit(t, db, n)
	}

	const older, newest, inReview = "id-000000", "id-000001", "id-000002"
	expect := func(id string, want lead.Outcome) {
		t.Helper()
		one, err := db.Lead(t.Context(), id)
		for l, listErr := range db.Leads(t.Context(), store.Filter{IDs: []string{id}}) {
			err = errors.Join(err, listErr)
			for _, got := range []lead.Outcome{one.Outcome, l.Outcome} {
				if got.Value != want.Value || !got.At.Equal(want.At) || got.By != want.By ||
					got.Currency != want.Currency || (got.Amount == nil) != (want.Amount == nil) ||
					got.Amount != nil && *got.Amount != *want.Amount {
					t.Errorf("%s has %+v, want %+v", id, got, want)
				}
			}
		}
		if err != nil {
			t.Error(err)
		}
	}

	crm := func(value lead.OutcomeValue, after time.Duration, want string, emails ...string) {
		t.Helper()
		o := lead.Outcome{Value: value, At: When().Add(after)}
		id, err := db.SetContactOutcome(t.Context(), emails, o)
		if id != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of %v changed %q, %v, want %q", value, emails, id, err, want)
		}
	}

	crm(lead.Won, 2*time.Hour, "")
	crm(lead.Won, 2*time.Hour, "", "stranger@example.com")
	crm(lead.Won, time.Hour, "", "ana@example.com") // not later than the lead
	crm(lead.Qualified, 2*time.Hour, newest, "stranger@example.com", "ANA@example.com")
	crm(lead.Qualified, 2*time.Hour, "", "ana@example.com") // the same once more
	crm(lead.Won, 3*time.Hour, newest, "ana@example.com")
	crm(lead.Lost, 2*time.Hour, "", "ana@example.com")
	expect(newest, lead.Outcome{Value: lead.Won, At: When().Add(3 * time.Hour)})
	expect(older, lead.Outcome{})
	expect(inReview, lead.Outcome{})

	amount := 1200.5
	said := lead.Outcome{
		Value:    lead.Won,
		Amount:   &amount,
		Currency: "EUR",
		At:       When().Add(4 * time.Hour),
		By:       "ana",
	}
	entry := store.AuditEntry{At: When(), Actor: "ana", Name: "Ana", Action: "OUTCOME", Lead: newest, Detail: "{}"}
	ok(t, db.SetOutcome(t.Context(), newest, said, entry))
	said.By = entry.Name
	crm(lead.Lost, 5*time.Hour, "", "ana@example.com")
	expect(newest, said)
	if err := db.SetOutcome(t.Context(), "none", said, entry); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the outcome of no lead: %v", err)
	}

	// After it is taken back, the CRM is heard again, about later changes.
	back := lead.Outcome{At: When().Add(6 * time.Hour), By: "ana"}
	ok(t, db.SetOutcome(t.Context(), newest, back, entry))
	expect(newest, lead.Outcome{})
	crm(lead.Lost, 5*time.Hour, "", "ana@example.com")
	crm(lead.Lost, 7*time.Hour, newest, "ana@example.com")

	entries, err := db.AuditEntries(t.Context(), store.AuditFilter{Limit: 10})
	if err != nil || len(entries) != 2 || slices.ContainsFunc(entries, func(e store.AuditEntry) bool {
		return e.Action != "OUTCOME"
	}) {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
}
