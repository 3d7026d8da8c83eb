package app

import (
	"testing"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// TestStrangerWithTheAddressOfACustomer: what a visitor types never reaches the person's
// properties of a contact that people keep, and nothing of a lead in review reaches any.
func TestStrangerWithTheAddressOfACustomer(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, stubs.env())

	kept := map[string]string{
		"email":     "customer@example.com",
		"firstname": "Maria",
		"company":   "Customer SA",
	}
	stubs.crm.Add(kept)

	bothEndpoints(t, func(t *testing.T, endpoint string) {
		suspicious, accepted := newLead("review-"+endpoint), newLead("stranger-"+endpoint)
		for _, input := range []object{suspicious, accepted} {
			input["contact"].(object)["email"] = "customer@example.com"
			input["consents"] = []any{object{"purpose": "news-" + input["sessionId"].(string)[:6], "given": true}}
		}
		suspicious["website"] = "https://spam.example"

		s.through(endpoint, "submitQuote", object{"input": suspicious})
		id := s.through(endpoint, "submitQuote", object{"input": accepted}).data["submissionId"].(string)
		eventually(t, "the lead is delivered", func() bool { return s.deliveries(id)["crm"].State == "delivered" })

		c, _ := stubs.crm.Contact("customer@example.com")
		for name, want := range map[string]string{
			"firstname":               "Maria",
			"lastname":                "",
			"phone":                   "",
			"company":                 "Customer SA",
			"quote_contact_created":   "",
			"quote_contact_firstname": "Ana",
			"quote_contact_company":   "Țară SRL",
			"quote_submission_id":     id,
			"quote_consents":          "news-strang: given, not to the site's wording",
		} {
			if got := c.Properties[name]; got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
}
