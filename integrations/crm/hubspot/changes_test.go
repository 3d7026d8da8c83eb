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

// TestPagesOfOutcomes reads more deals than fit on a page. One of them changes between two
// pages.
func TestPagesOfOutcomes(t *testing.T) {
	t.Parallel()
	a := prepared(t, ht.Options{}, withDeals)

	const deals = 130
	at := time.Now().Truncate(time.Millisecond)
	for i := range deals {
		id := fmt.Sprintf("lead-%d", i)
		a.stub.Add(map[string]string{"dealname": id, crm.PropLeadID: id, "dealstage": "appointmentscheduled"}, at.Add(-time.Hour))
		a.stub.Edit(id, map[string]string{"dealstage": "closedlost"}, at)
	}

	found := map[string]crm.Outcome{}
	pages, until := 0, time.Time{}
	for page, err := range a.Outcomes(t.Context(), at) {
		must(t, err)
		if pages++; page.Until.Before(until) {
			t.Errorf("page %d ends at %v, before %v", pages, page.Until, until)
		}
		until = page.Until
		for _, o := range page.Outcomes {
			found[o.LeadID] = o
		}
		a.stub.Edit("lead-1", map[string]string{"dealname": "edited"}, time.Now())
	}

	if pages < 3 || len(found) != deals {
		t.Errorf("%d pages with %d deals, want %d", pages, len(found), deals)
	}
	if seven := found["lead-7"]; seven.Value != lead.Lost || !seven.At.Equal(at) {
		t.Errorf("a lost deal is %+v", seven)
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
		"nobody has touched it":          {nil, "", 9, 0, ""},
		"edited in the first stage":      {[]step{{"amount": "9", "dealname": "Shop"}}, "", 9, 0, ""},
		"moved on":                       {[]step{stage("qualifiedtobuy")}, lead.Qualified, 10, 0, ""},
		"moved on twice":                 {[]step{stage("qualifiedtobuy"), stage("8813")}, lead.Qualified, 11, 0, ""},
		"the same stage written again":   {[]step{stage("qualifiedtobuy"), stage("qualifiedtobuy")}, lead.Qualified, 10, 0, ""},
		"moved back":                     {[]step{stage("qualifiedtobuy"), stage("appointmentscheduled")}, "", 11, 0, ""},
		"won by mistake and moved back":  {[]step{stage("closedwon"), stage("appointmentscheduled")}, "", 11, 0, ""},
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
		want := lead.Outcome{Value: tt.want, Currency: tt.currency, At: nine.Add(time.Duration(tt.hour-9) * time.Hour)}
		if tt.amount != 0 {
			want.Amount = &tt.amount
		}
		if !reflect.DeepEqual(found, []crm.Outcome{{LeadID: crmtest.FirstID, Outcome: want}}) {
			t.Errorf("%s: %+v, want %+v", name, found, want)
		}
	}
}
