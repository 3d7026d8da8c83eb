package leads

import (
	"testing"

	"siteapi/integrations/lead/leadtest"
)

// TestOperatorsSeeEveryFieldOfALead checks that the schema's type has every field of a
// lead.
func TestOperatorsSeeEveryFieldOfALead(t *testing.T) {
	t.Parallel()
	l := leadtest.Filled()
	l.Deliveries = nil // Each refers to its lead, so JSON cannot encode them.
	for _, path := range leadtest.Missing(newLead(*l)) {
		t.Errorf("type Lead of schema/operator.graphqls or newLead in resolvers/leads/lead.go leaves out %s", path)
	}
}
