package lead_test

import (
	"slices"
	"strings"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
)

// TestPersonal checks that errors repeat no field that a visitor types.
func TestPersonal(t *testing.T) {
	t.Parallel()

	for _, path := range leadtest.Fields() {
		switch part, _, _ := strings.Cut(path, "."); part {
		case "id", "selections", "estimate", "priceStatus", "locale", "submittedAt":
			// The value is chosen from a list or set by the service.
		default:
			if path == "consents.purpose" {
				continue // a slug
			}
			if leadtest.IsFreeText(path) && !slices.Contains(leadtest.Filled().Personal(), path) {
				t.Errorf("Lead.Personal in lead.go leaves out %s", path)
			}
		}
	}
}

func TestReference(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"f81d4fae-7dec-41d0": "F81D4FAE",
		"ab-cd":              "ABCD",
		"":                   "",
		"-":                  "",
	} {
		if got := lead.Reference(id); got != want {
			t.Errorf("Reference(%q) = %q, want %q", id, got, want)
		}
	}
}
