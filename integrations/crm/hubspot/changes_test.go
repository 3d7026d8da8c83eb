package hubspot_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/crm/crmtest"
	ht "siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
)

// TestOutcomesOfContacts reads more contacts than fit on a page. One of them changes
// between two pages.
func TestOutcomesOfContacts(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{})

	const contacts = 130
	at := time.Now().Truncate(time.Millisecond)
	for i := range contacts {
		email := fmt.Sprintf("visitor-%d@example.com", i)
		a.stub.Add(map[string]string{"email": email, "hs_additional_emails": "second-" + email}, at)
		a.stub.Edit(email, map[string]string{"lifecyclestage": "lead"}, at.Add(-time.Hour))
		a.stub.Edit(email, map[string]string{"lifecyclestage": "customer"}, at)
		a.stub.Edit(email, map[string]string{"lifecyclestage": "customer"}, at.Add(time.Hour)) // the same value again
	}

	found := map[string]crm.Outcome{}
	pages, until := 0, time.Time{}
	for page, err := range a.Outcomes(t.Context(), at) {
		must(t, err)
		if pages++; page.Until.Before(until) {
			t.Errorf("page %d ends at %v, before %v", pages, page.Until, until)
		}
		until = page.Until
		for _, c := range page.Outcomes {
			found[c.Emails[len(c.Emails)-1]] = c
		}
		a.stub.Edit("visitor-1@example.com", map[string]string{"hs_lead_status": "OPEN"}, time.Now())
	}

	if pages < 3 || len(found) != contacts {
		t.Errorf("%d pages with %d contacts, want %d", pages, len(found), contacts)
	}
	seven := found["visitor-7@example.com"]
	if seven.Value != lead.Won || !seven.At.Equal(at) || len(seven.Emails) != 2 || seven.Emails[0] != "second-visitor-7@example.com" {
		t.Errorf("the contact with two addresses is %+v", seven)
	}
}

// TestOutcomesOfDeals has a row for each way in which people work on a deal. Each step is
// a change of properties, an hour after the one before; the deal is created at nine.
func TestOutcomesOfDeals(t *testing.T) {
	t.Parallel()
	type step = map[string]string
	stage := func(id string) step { return step{"dealstage": id} }
	nine := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)

	for name, tt := range map[string]struct {
		steps    []step
		want     lead.OutcomeValue
		hour     int
		amount   float64 // 0: none
		currency string
	}{
		"nobody has touched it":          {nil, "", 0, 0, ""},
		"edited in the first stage":      {[]step{{"amount": "9", "dealname": "Shop"}}, "", 0, 0, ""},
		"moved on":                       {[]step{stage("qualifiedtobuy")}, lead.Qualified, 10, 0, ""},
		"moved on twice":                 {[]step{stage("qualifiedtobuy"), stage("8813")}, lead.Qualified, 11, 0, ""},
		"the same stage written again":   {[]step{stage("qualifiedtobuy"), stage("qualifiedtobuy")}, lead.Qualified, 10, 0, ""},
		"moved back":                     {[]step{stage("qualifiedtobuy"), stage("appointmentscheduled")}, "", 0, 0, ""},
		"lost":                           {[]step{stage("closedlost")}, lead.Lost, 10, 0, ""},
		"lost and opened again":          {[]step{stage("closedlost"), stage("qualifiedtobuy")}, lead.Qualified, 11, 0, ""},
		"won at the estimate":            {[]step{stage("closedwon")}, lead.Won, 10, 12500, "EUR"},
		"won at another amount":          {[]step{{"amount": "9000.5"}, stage("closedwon")}, lead.Won, 11, 9000.5, "EUR"},
		"the amount corrected afterward": {[]step{stage("closedwon"), {"amount": "100"}}, lead.Won, 11, 100, "EUR"},
		"in another currency":            {[]step{stage("8814"), {"deal_currency_code": "RON"}}, lead.Won, 11, 12500, "RON"},
		"won without an amount":          {[]step{{"amount": ""}, stage("closedwon")}, lead.Won, 11, 0, ""},
		"won without a currency":         {[]step{{"deal_currency_code": ""}, stage("closedwon")}, lead.Won, 11, 0, ""},
	} {
		a := prepared(t, ht.Options{}, withDeals)
		a.stub.Add(map[string]string{"dealname": "not from a quote", "dealstage": "closedwon"}, nine)
		properties := crm.NewDeal(crmtest.Contact(ana, nil))
		properties["dealstage"] = "appointmentscheduled"
		a.stub.Add(properties, nine)
		for i, change := range tt.steps {
			a.stub.Edit(crmtest.FirstID, change, nine.Add(time.Duration(i+1)*time.Hour))
		}

		var found []crm.Outcome
		for page, err := range a.Outcomes(t.Context(), time.Now()) {
			must(t, err)
			found = append(found, page.Outcomes...)
		}
		var want []crm.Outcome
		if tt.want != "" {
			o := lead.Outcome{Value: tt.want, Currency: tt.currency, At: nine.Add(time.Duration(tt.hour-9) * time.Hour)}
			if tt.amount != 0 {
				o.Amount = &tt.amount
			}
			want = append(want, crm.Outcome{LeadID: crmtest.FirstID, Outcome: o})
		}
		if !reflect.DeepEqual(found, want) {
			t.Errorf("%s: %+v, want %+v", name, found, want)
		}
	}
}
