package resolvers

import (
	"slices"
	"testing"

	"siteapi/integrations/quote/quotetest"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// TestEveryFieldOfALeadArrives checks that each field of the schema's input is a field of
// the lead, that submitQuote carries it over, and that operators see it.
func TestEveryFieldOfALeadArrives(t *testing.T) {
	t.Parallel()

	var in schema.SubmitQuoteInput
	quotetest.Fill(&in, func(path string) {
		if !slices.Contains(quotetest.Fields(), path) && path != "website" && path != "challengeToken" {
			t.Errorf("integrations/quote/quote.go: Submission has no field for %s of SubmitQuoteInput", path)
		}
	})

	for _, path := range quotetest.Missing(newSubmission(in)) {
		if path != "id" && path != "submittedAt" { // set by the service
			t.Errorf("resolvers/quote.go: newSubmission leaves out %s", path)
		}
	}

	for _, path := range quotetest.Missing(leads.New(*quotetest.Filled(), schema.LeadStateDelivered)) {
		t.Errorf("type Lead of schema/operator.graphqls or New in resolvers/leads/leads.go leaves out %s",
			path)
	}
}
