package lead_test

import (
	"slices"
	"strings"
	"testing"

	"siteapi/integrations/lead/leadtest"
)

// TestPersonal checks that every field that a visitor types is removed from errors.
func TestPersonal(t *testing.T) {
	t.Parallel()

	for _, path := range leadtest.Fields() {
		switch part, _, _ := strings.Cut(path, "."); part {
		case "id", "selections", "estimate", "locale", "submittedAt":
			// The value is chosen from a list, or is the service's own.
		default:
			if !slices.Contains(leadtest.Filled().Personal(), path) {
				t.Errorf("Submission.Personal in quote.go leaves out %s", path)
			}
		}
	}
}
