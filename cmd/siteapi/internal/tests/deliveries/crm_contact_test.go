package deliveries

import (
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// What a visitor submits never changes the personal properties of an existing contact. No
// data of a lead in review reaches the CRM.
func TestVisitorWithACustomersAddress(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	s := apptest.Start(t, stubs.Env())

	customer := map[string]string{
		"email":     "customer@example.com",
		"firstname": "Maria",
		"company":   "Customer SA",
	}
	stubs.CRM.Add(customer)

	suspicious, accepted := apptest.NewLead("review"), apptest.NewLead("stranger")
	for _, input := range []object{suspicious, accepted} {
		input["contact"].(object)["email"] = "customer@example.com"
		input["consents"] = []any{object{"purpose": "news-" + input["sessionId"].(string), "given": true}}
	}
	suspicious["website"] = "https://spam.example"

	s.Through("REST", "submitQuote", object{"input": suspicious})
	id := s.Through("GraphQL", "submitQuote", object{"input": accepted}).Data["submissionId"].(string)
	apptest.Eventually(t, "the lead is delivered", func() bool { return s.Deliveries(id)["crm"].State == "delivered" })

	c, _ := stubs.CRM.Contact("customer@example.com")
	for name, want := range map[string]string{
		"firstname":               "Maria",
		"lastname":                "",
		"phone":                   "",
		"company":                 "Customer SA",
		"quote_contact_created":   "",
		"quote_contact_firstname": "Ana",
		"quote_contact_company":   "Țară SRL",
		"quote_submission_id":     id,
		"quote_consents":          "news-stranger: given, not to the site's wording",
	} {
		if got := c.Properties[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
