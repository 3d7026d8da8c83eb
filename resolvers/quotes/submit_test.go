package quotes

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/ratelimit/memory"
	"siteapi/resolvers/price"
	"siteapi/schema"
	"siteapi/schema/request"
)

// TestNewLeadCopiesEveryField checks that each field of the schema's input is a field of
// the lead, and that newLead copies it.
func TestNewLeadCopiesEveryField(t *testing.T) {
	t.Parallel()

	var in schema.SubmitQuoteInput
	leadtest.Fill(&in, func(path string) {
		if !slices.Contains(leadtest.Fields(), path) && path != "website" && path != "challengeToken" &&
			path != "estimate.revision" {
			t.Errorf("integrations/lead/lead.go: Lead has no field for %s of SubmitQuoteInput", path)
		}
	})

	in.Selections.Quantities[0].Slug = in.Selections.ProjectType // those of other slugs are dropped
	for _, path := range leadtest.Missing(newLead(in)) {
		if _, part, _ := strings.Cut(path, "ttribution."); part != "" {
			continue // merged with the session's attribution
		}
		if path == "consents.siteWording" || path == "consents.withdrawnAt" {
			continue // set by the service later
		}
		if path != "id" && path != "submittedAt" && path != "priceStatus" { // set by the service
			t.Errorf("resolvers/quotes/submit.go: newLead leaves out %s", path)
		}
	}
}

// A client submits at most 300 leads an hour. A lead of 15,000 bytes counts as two.
func TestLeadsOfAnHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	r := New(Deps{Limiter: memory.New(), Now: func() time.Time { return now }})
	from := func(address string, size int) bool {
		ctx := request.WithCaller(t.Context(), request.Caller{Address: address})
		return r.withinHourlyLeads(ctx, &lead.Lead{Message: strings.Repeat("a", size), SubmittedAt: now}) == nil
	}

	for i := range 301 {
		if ok := from("198.51.100.1", 2000); ok != (i < 300) {
			t.Fatalf("the lead %d of an address: %v", i+1, ok)
		}
	}
	for i := range 151 {
		if ok := from("198.51.100.2", 15_000); ok != (i < 150) {
			t.Fatalf("the large lead %d of an address: %v", i+1, ok)
		}
	}
	if !from("2001:db8::1", 2000) {
		t.Error("other clients are limited, too")
	}
	if now = now.Add(time.Hour); !from("198.51.100.1", 2000) {
		t.Error("the next hour is limited, too")
	}
}

// TestLineLabelsInEveryLocale checks that the lines that are not choices have labels.
func TestLineLabelsInEveryLocale(t *testing.T) {
	t.Parallel()
	for _, locale := range schema.Locales() {
		for _, line := range []string{lead.LineMinimum, lead.LineRounding} {
			if lineLabels[locale][line] == "" {
				t.Errorf("lineLabels in resolvers/quotes/estimate.go has no %s in %s", line, locale)
			}
		}
	}
}

// A quantity belongs to the choices with its slug that have a unit, even if another field has a
// choice with the same slug.
func TestUnitsOfOneSlugInTwoFields(t *testing.T) {
	t.Parallel()
	document := func(id, fields string) cms.Document {
		return cms.Document{ID: id, Type: strings.TrimRight(id, "123"), Fields: json.RawMessage(fields)}
	}
	rules, _ := price.Read([]cms.Document{
		document("quoteRules", `{"currency": "EUR", "spreadPercent": 10, "roundTo": 1, "enforce": true}`),
		document("quoteOption1", `{"group": "projectType", "slug": {"current": "standard"}, "price": 100}`),
		document("quoteOption2", `{"group": "complexity", "slug": {"current": "standard"}, "unit": "m²", "unitPrice": 4.5}`),
		document("quoteOption3", `{"group": "timeline", "slug": {"current": "soon"}, "price": 10}`),
	}, "en")
	chosen := lead.Selections{
		ProjectType: "standard", Complexity: "standard", Timeline: "soon",
		Quantities: []lead.Quantity{{Slug: "standard", Count: 120}, {Slug: "soon", Count: 2}},
	}
	before := rules.Quote(chosen).Min
	setUnits(&chosen, rules)
	if after := rules.Quote(chosen).Min; len(chosen.Quantities) != 1 || after != before {
		t.Errorf("the price %d became %d, with the quantities %+v", before, after, chosen.Quantities)
	}
}
