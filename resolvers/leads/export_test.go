package leads

import (
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
)

// An export has every field of a lead: without its value the row differs.
func TestExportHasEveryField(t *testing.T) {
	t.Parallel()
	// A field of the request, fields that a withdrawn consent hides, and a state that
	// another one hides.
	hidden := []string{"trace", "consents.given", "consents.siteWording", "rejected"}
	r := &Resolver{TimeZone: time.UTC}
	whole := r.exportLeads([]lead.Lead{*leadtest.Filled()}, false)

	leadtest.Fill(new(lead.Lead), func(path string) {
		if slices.Contains(hidden, path) || strings.HasPrefix(path, "-") {
			return
		}
		if r.exportLeads([]lead.Lead{*leadtest.Without(path)}, false) == whole {
			t.Errorf("export.go has no column for %s", path)
		}
	})
}

// No cell of an export begins a formula, whichever separator a spreadsheet uses.
func TestInert(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":             "",
		"Ana":          "Ana",
		"a+b@c.d":      "a+b@c.d",
		"web-app":      "web-app",
		"a = b":        "a = b",
		"=1+1":         "'=1+1",
		"+40":          "'+40",
		"-1":           "'-1",
		"@SUM(A1)":     "'@SUM(A1)",
		"==1":          "'==1",
		"＝1":           "'＝1",
		"  =1":         "  '=1",
		"\t=1":         "\t'=1",
		"\"=1":         "\"'=1",
		"\u00a0=1":     "\u00a0'=1",
		"a;=1":         "a;'=1",
		"a; \"=1":      "a; \"'=1",
		"a\r\n=1":      "a\r\n'=1",
		"a,@b":         "a,'@b",
		"a|+1":         "a|'+1",
		"Ș-a;-b;c-d;＠": "Ș-a;'-b;c-d;'＠",
	} {
		if got := Inert(cell); got != want {
			t.Errorf("Inert(%q) = %q, want %q", cell, got, want)
		}
	}
}
