package operators

import (
	"testing"

	"siteapi/integrations/lead/leadtest"
)

// TestOperatorsSeeEveryFieldOfALead checks that each field of a lead is one of its type in the
// schema.
func TestOperatorsSeeEveryFieldOfALead(t *testing.T) {
	t.Parallel()
	for _, path := range leadtest.Missing(newLead(*leadtest.Filled(), nil)) {
		t.Errorf("type Lead of schema/operator.graphqls or newLead in resolvers/operators/lead.go leaves out %s", path)
	}
}
