package storecopy_test

import (
	"fmt"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store/storecopy"
	"siteapi/integrations/store/storetest"
)

// A copy keeps what was said last of a lead, but what an operator said stays before what the
// CRM said, wherever and whenever each of them did. An operator may take it back.
func TestCopyOutcomes(t *testing.T) {
	t.Parallel()
	at := func(value lead.OutcomeValue, hours int, by string) lead.Outcome {
		return lead.Outcome{Value: value, At: storetest.When().Add(time.Duration(hours) * time.Hour), By: by}
	}
	person, crm, back := at(lead.Lost, 2, "ana"), at(lead.Won, 1, ""), at("", 2, "ana")
	laterPerson, laterCRM, laterBack := at(lead.Won, 3, "paul"), at(lead.Won, 3, ""), at("", 3, "paul")

	cases := []struct{ here, copied, want lead.Outcome }{
		{person, laterCRM, person},
		{laterCRM, person, person},
		{crm, person, person},
		{person, crm, person},
		{person, laterPerson, laterPerson},
		{laterPerson, person, laterPerson},
		{crm, laterCRM, laterCRM},
		{laterCRM, crm, laterCRM},
		{back, crm, lead.Outcome{}},
		{back, laterCRM, laterCRM},
		{crm, back, lead.Outcome{}},
		{laterCRM, back, laterCRM},
		{person, laterBack, lead.Outcome{}},
		{laterBack, person, lead.Outcome{}},
		{lead.Outcome{}, crm, crm},
		{person, lead.Outcome{}, person},
	}
	for name, open := range map[string]func(*testing.T, func([]string) error) *storecopy.Store{
		"SQLite": openSQLite, "PostgreSQL": openPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := openSQLite(t, nothing), open(t, nothing)
			for i, tt := range cases {
				for db, said := range map[*storecopy.Store]lead.Outcome{from: tt.copied, to: tt.here} {
					submit(t, db, storetest.Lead(i))
					if said != (lead.Outcome{}) {
						outcome(t, db, fmt.Sprintf("id-%06d", i), said)
					}
				}
			}

			for range 2 {
				if _, err := storecopy.Copy(t.Context(), from, to, everything); err != nil {
					t.Fatal(err)
				}
			}
			for i, tt := range cases {
				got, err := to.Lead(t.Context(), fmt.Sprintf("id-%06d", i))
				if err != nil || got.Outcome != tt.want {
					t.Errorf("%+v, copied to %+v: %+v, %v, want %+v", tt.copied, tt.here, got.Outcome, err, tt.want)
				}
			}
		})
	}
}
