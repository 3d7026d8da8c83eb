package crm_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
)

// TestNewDeal has a row for each form in which names, prices and optional fields arrive.
// An empty value means that the deal does not have the property.
func TestNewDeal(t *testing.T) {
	t.Parallel()
	estimate := func(low, high float64, currency string) func(*crm.Contact) {
		return func(c *crm.Contact) { c.Lead.Estimate = lead.Estimate{Min: low, Max: high, Currency: currency} }
	}
	unpriced := func(c *crm.Contact) { c.Lead.Price = &lead.Price{Unpriced: []string{"web-app"}} }

	for name, tc := range map[string]struct {
		change func(*crm.Contact)
		want   map[string]string
	}{
		"label of the project":      {func(*crm.Contact) {}, map[string]string{"dealname": "Quote 5F0C2D34 · Web application"}},
		"the CMS is not available":  {func(c *crm.Contact) { c.ProjectType = "" }, map[string]string{"dealname": "Quote 5F0C2D34 · web-app"}},
		"label in another script":   {func(c *crm.Contact) { c.ProjectType = "Aplicație „web”" }, map[string]string{"dealname": "Quote 5F0C2D34 · Aplicație „web”"}},
		"short id":                  {func(c *crm.Contact) { c.Lead.ID = "a-b" }, map[string]string{"dealname": "Quote AB · Web application"}},
		"price with minor units":    {estimate(0.5, 7.25, "EUR"), map[string]string{"amount": "0.5", "quote_max": "7.25"}},
		"free at the lower end":     {estimate(0, 10, "EUR"), map[string]string{"amount": "0"}},
		"no exponent in large ones": {estimate(1e9, 1e9, "JPY"), map[string]string{"amount": "1000000000", "deal_currency_code": "JPY"}},
		"to be agreed":              {estimate(0, 0, "RON"), map[string]string{"amount": "", "quote_min": "", "deal_currency_code": "RON"}},
		"no choice has a price":     {unpriced, map[string]string{"amount": "", "quote_max": ""}},
		"address as typed":          {func(c *crm.Contact) { c.Lead.Contact.Email = " Ana@Example.COM" }, map[string]string{"quote_contact_email": "ana@example.com"}},
		"blank values":              {func(c *crm.Contact) { c.Lead.Message, c.Lead.Contact.Phone = " \n", "" }, map[string]string{"quote_message": "", "quote_contact_phone": ""}},
		"nothing of the contact":    {func(*crm.Contact) {}, map[string]string{"email": "", "firstname": "", "quote_contact_created": "", "dealstage": ""}},
	} {
		c := crmtest.Contact(crmtest.Ana, nil)
		tc.change(&c)
		deal := crm.NewDeal(c)
		for property, want := range tc.want {
			if got, has := deal[property]; got != want || has != (want != "") {
				t.Errorf("%s: %s is %q, want %q", name, property, got, want)
			}
		}
	}
}

// TestErasedDeal fails if a property of a complete lead still has personal data after an
// erasure, or an address that gives access to it.
func TestErasedDeal(t *testing.T) {
	t.Parallel()
	l := leadtest.Filled()
	deal := crm.NewDeal(crm.Contact{Lead: l, PDFURL: "https://site.example" + l.PDFPath(), TimeZone: time.UTC})
	maps.Copy(deal, crm.ErasedDeal(l.ID))
	for property, value := range deal {
		for _, personal := range append(l.Personal(), l.PDFPath()) {
			if personal != "" && strings.Contains(value, personal) {
				t.Errorf("%s is still %q", property, value)
			}
		}
	}
	if deal["quote_submission_id"] != l.ID || deal["quote_project_type"] == "" || deal["amount"] == "" {
		t.Errorf("the firm's record lost its choices: %v", deal)
	}
}
