package leads

import (
	"testing"

	"siteapi/integrations/lead/leadtest"
)

// TestOperatorsSeeEveryFieldOfALead checks that the schema's type has every field of a
// lead.
func TestOperatorsSeeEveryFieldOfALead(t *testing.T) {
	t.Parallel()
	for _, path := range leadtest.Missing(newLead(*leadtest.Filled(), nil)) {
		t.Errorf("type Lead of schema/operator.graphqls or newLead in resolvers/leads/lead.go leaves out %s", path)
	}
}
