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
// that is not in review, or in the lead of its deal, if the outcome is later than that lead
// and any earlier outcome.
func outcomes(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	for i := range 3 { // of one person, the last one in review
		n := Lead(i)
		n.Lead.Contact.Email, n.Lead.InReview = "Ana@Example.com", i == 2
		n.Lead.SubmittedAt = When().Add(time.Duration(i) * time.Hour)
		submit(t, db, n)
	}

	const older, newest, inReview = "id-000000", "id-000001", "id-000002"
	ana, amount := []string{"stranger@example.com", "ANA@example.com"}, 1200.5
	named := entry(0, newest)
	named.Actor, named.Name = "ana", "Ana"
	for i, tt := range []struct {
		hour  int
		value lead.OutcomeValue
		deal  string   // id of the lead of a deal
		of    []string // addresses of the contact; without any and without a deal: an operator's outcome
		want  string   // the lead that gets it
	}{
		{1, lead.Won, "", ana, ""}, // not later than the lead
		{2, lead.Qualified, "", ana, newest},
		{2, lead.Qualified, "", ana, ""}, // a repetition
		{3, lead.Won, "", ana, newest},
		{4, lead.Won, "", nil, newest},
		{5, lead.Lost, "", ana, ""}, // after the operator's
		{6, "", "", nil, newest},    // it is cleared
		{5, lead.Lost, "", ana, ""}, // before that
		{7, lead.Lost, "", ana, newest},
		{8, lead.Won, older, nil, older},
		{8, lead.Won, inReview, nil, ""},
		{8, lead.Won, "none", nil, ""},
	} {
		o := lead.Outcome{Value: tt.value, Amount: &amount, Currency: "EUR", At: When().Add(time.Duration(tt.hour) * time.Hour)}
		id, err := tt.want, error(nil)
		if tt.deal == "" && tt.of == nil {
			o.By = named.Actor
			err = db.SetOutcome(t.Context(), id, o, named)
			o.By = named.Name
		} else {
			id, err = db.SetCRMOutcome(t.Context(), tt.deal, tt.of, o)
		}
		if id != tt.want || tt.want != "" && err != nil || tt.want == "" && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("outcome %d changed %q, %v, want %q", i, id, err, tt.want)
		}
		if tt.value == "" {
			o = lead.Outcome{}
		}
		if tt.want == "" {
			continue
		}
		if l, err := db.Lead(t.Context(), tt.want); err != nil || !reflect.DeepEqual(l.Outcome, o) {
			t.Errorf("outcome %d is stored as %+v, %v, want %+v", i, l.Outcome, err, o)
		}
	}

	if err := db.SetOutcome(t.Context(), "none", lead.Outcome{}, named); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the outcome of an unknown lead: %v", err)
	}
	wantEntries(t, db, 2)
}
