package hubspot_test

import (
	"fmt"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
)

// TestOutcomesOfContacts reads more contacts than fit on a page. One of them changes
// between two pages.
func TestOutcomesOfContacts(t *testing.T) {
	t.Parallel()
	a := open(t, hubspottest.Options{})

	const contacts = 130
	at := time.Now().Truncate(time.Millisecond)
	for i := range contacts {
		email := fmt.Sprintf("visitor-%d@example.com", i)
		a.stub.Add(map[string]string{"email": email, "hs_additional_emails": "second-" + email})
		a.stub.Move(email, "lifecyclestage", "lead", at.Add(-time.Hour))
		a.stub.Move(email, "lifecyclestage", "customer", at)
		a.stub.Move(email, "lifecyclestage", "customer", at.Add(time.Hour)) // the same value again
	}

	found := map[string]crm.ContactOutcome{}
	pages, until := 0, time.Time{}
	for page, err := range a.Outcomes(t.Context(), at) {
		if err != nil {
			t.Fatal(err)
		}
		if pages++; page.Until.Before(until) {
			t.Errorf("page %d ends at %v, before %v", pages, page.Until, until)
		}
		until = page.Until
		for _, c := range page.Contacts {
			found[c.Emails[len(c.Emails)-1]] = c
		}
		a.stub.Move("visitor-1@example.com", "hs_lead_status", "OPEN", time.Now())
	}

	if pages < 3 || len(found) != contacts {
		t.Errorf("%d pages with %d contacts, want %d", pages, len(found), contacts)
	}
	seven := found["visitor-7@example.com"]
	if seven.Value != lead.Won || !seven.At.Equal(at) || len(seven.Emails) != 2 || seven.Emails[0] != "second-visitor-7@example.com" {
		t.Errorf("the contact with two addresses is %+v", seven)
	}
}
