package storetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// An operator's outcome takes precedence. The CRM's outcome is stored in the newest lead
// that is not in review, if the outcome is later than that lead and any earlier outcome.
func outcomes(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	for i := range 3 { // of one person, the last one in review
		n := Lead(i)
		n.Lead.Contact.Email, n.Lead.InReview = "Ana@Example.com", i == 2
		n.Lead.SubmittedAt = When().Add(time.Duration(i) * time.Hour)
		submit(t, db, n)
	}

	const newest = "id-000001"
	expect := func(want lead.Outcome) {
		t.Helper()
		for l, err := range db.Leads(t.Context(), store.Filter{Email: "ana@example.com"}) {
			expected := lead.Outcome{}
			if l.ID == newest {
				expected = want
			}
			if err != nil || !reflect.DeepEqual(l.Outcome, expected) {
				t.Errorf("%s has %+v, %v, want %+v", l.ID, l.Outcome, err, expected)
			}
		}
	}

	crm := func(value lead.OutcomeValue, after time.Duration, want string, emails ...string) {
		t.Helper()
		o := lead.Outcome{Value: value, At: When().Add(after)}
		id, err := db.SetCRMOutcome(t.Context(), "", emails, o)
		if id != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of %v changed %q, %v, want %q", value, emails, id, err, want)
		}
	}

	crm(lead.Won, time.Hour, "", "ana@example.com") // not later than the lead
	crm(lead.Qualified, 2*time.Hour, newest, "stranger@example.com", "ANA@example.com")
	crm(lead.Qualified, 2*time.Hour, "", "ana@example.com") // a repetition
	crm(lead.Won, 3*time.Hour, newest, "ana@example.com")
	expect(lead.Outcome{Value: lead.Won, At: When().Add(3 * time.Hour)})

	amount := 1200.5
	recorded := lead.Outcome{
		Value:    lead.Won,
		Amount:   &amount,
		Currency: "EUR",
		At:       When().Add(4 * time.Hour),
		By:       "ana",
	}
	named := entry(0, newest)
	named.Actor, named.Name = "ana", "Ana"
	ok(t, db.SetOutcome(t.Context(), newest, recorded, named))
	recorded.By = named.Name
	crm(lead.Lost, 5*time.Hour, "", "ana@example.com")
	expect(recorded)
	if err := db.SetOutcome(t.Context(), "none", recorded, named); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the outcome of an unknown lead: %v", err)
	}

	// After it is cleared, later outcomes of the CRM are stored again.
	ok(t, db.SetOutcome(t.Context(), newest, lead.Outcome{At: When().Add(6 * time.Hour), By: "ana"}, named))
	expect(lead.Outcome{})
	crm(lead.Lost, 5*time.Hour, "", "ana@example.com")
	crm(lead.Lost, 7*time.Hour, newest, "ana@example.com")

	// The outcome of a deal belongs to its lead, even if that is not the newest.
	for id, want := range map[string]string{"id-000000": "id-000000", "id-000002": "", "none": ""} {
		o := lead.Outcome{Value: lead.Won, Amount: &amount, Currency: "EUR", At: When().Add(8 * time.Hour)}
		if got, err := db.SetCRMOutcome(t.Context(), id, nil, o); got != want || (err != nil) != (want == "") {
			t.Errorf("the outcome of the deal of %s changed %q, %v", id, got, err)
		}
	}
	wantEntries(t, db, 2)
}
