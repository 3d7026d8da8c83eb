package storetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// An operator's outcome takes precedence. The outcome of a deal is stored in its lead, unless
// that is in review, if it is later than the lead and any earlier outcome.
func outcomes(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	for i := range 2 { // the second one in review
		n := Lead(i)
		n.Lead.InReview = i == 1
		n.Lead.SubmittedAt = When().Add(time.Hour)
		submit(t, db, n)
	}

	const id, inReview = "id-000000", "id-000001"
	amount := 1200.5
	named := entry(0, id)
	named.Actor, named.Name = "ana", "Ana"
	for i, tt := range []struct {
		hour     int
		value    lead.OutcomeValue
		operator bool
		id       string
		stored   bool
	}{
		{1, lead.Won, false, id, false}, // not later than the lead
		{2, "", false, id, false},       // there is none to clear
		{2, lead.Qualified, false, id, true},
		{2, lead.Qualified, false, id, false}, // a repetition
		{3, lead.Won, false, id, true},
		{4, "", false, id, true}, // the deal was moved back
		{3, lead.Won, false, id, false},
		{4, lead.Won, true, id, true},
		{5, lead.Lost, false, id, false}, // after the operator's
		{6, "", true, id, true},          // it is cleared
		{5, lead.Lost, false, id, false}, // before that
		{7, lead.Lost, false, id, true},
		{8, lead.Won, false, inReview, false},
		{8, lead.Won, false, "none", false},
		{8, lead.Won, false, "", false},
	} {
		o := lead.Outcome{Value: tt.value, Amount: &amount, Currency: "EUR", At: When().Add(time.Duration(tt.hour) * time.Hour)}
		var err error
		if tt.operator {
			o.By = named.Actor
			err = db.SetOutcome(t.Context(), tt.id, o, named)
			o.By = named.Name
		} else {
			err = db.SetCRMOutcome(t.Context(), tt.id, o)
		}
		if tt.stored && err != nil || !tt.stored && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("outcome %d: %v", i, err)
		}
		if tt.value == "" {
			o = lead.Outcome{}
		}
		if !tt.stored {
			continue
		}
		if l, err := db.Lead(t.Context(), tt.id); err != nil || !reflect.DeepEqual(l.Outcome, o) {
			t.Errorf("outcome %d is stored as %+v, %v, want %+v", i, l.Outcome, err, o)
		}
	}

	if err := db.SetOutcome(t.Context(), "none", lead.Outcome{}, named); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the outcome of an unknown lead: %v", err)
	}
	wantEntries(t, db, 2)
}
