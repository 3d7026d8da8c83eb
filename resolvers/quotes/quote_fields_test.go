package quotes

import (
	"slices"
	"strings"
	"testing"

	"siteapi/integrations/lead/leadtest"
	"siteapi/schema"
)

// TestEveryFieldOfALeadArrives checks that each field of the schema's input is a field of
// the lead, and that submitQuote carries it over.
func TestEveryFieldOfALeadArrives(t *testing.T) {
	t.Parallel()

	var in schema.SubmitQuoteInput
	leadtest.Fill(&in, func(path string) {
		if !slices.Contains(leadtest.Fields(), path) && path != "website" && path != "challengeToken" &&
			path != "estimate.revision" {
			t.Errorf("integrations/lead/lead.go: Lead has no field for %s of SubmitQuoteInput", path)
		}
	})

	for _, path := range leadtest.Missing(newLead(in)) {
		if _, part, _ := strings.Cut(path, "ttribution."); part != "" {
			continue // set with the session's
		}
		if path == "consents.siteWording" || path == "consents.withdrawnAt" {
			continue // the service's own
		}
		if path != "id" && path != "submittedAt" && path != "priceStatus" { // set by the service
			t.Errorf("resolvers/quotes/quote.go: newLead leaves out %s", path)
		}
	}
}
