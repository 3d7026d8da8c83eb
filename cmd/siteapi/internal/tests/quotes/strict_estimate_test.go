package quotes

import (
	"encoding/json"
	"strings"
	"testing"
)

// A model invents slugs, and a misspelled one has no price, so that the range would be too low.
// With strict each slug that the CMS does not offer is an error with those of its field. The
// calculator's route stays lenient.
func TestStrictEstimate(t *testing.T) {
	t.Parallel()
	s := startPriced(t, strings.Replace(priceContent(onTrial, 2000), "]", `,
		{"_id":"o5","_type":"quoteOption","group":"feature","slug":"chat","label":{"en":"Chat"}},
		{"_id":"o6","_type":"quoteOption","group":"feature","slug":{"current":"shop"},"language":"ro","price":1},
		{"_id":"o7","_type":"quoteOption","group":"feature","slug":{"current":"blog"},"language":"en","price":700},
		{"_id":"o8","_type":"quoteOption","group":"extra","slug":{"current":"vip"},"price":9},
		{"_id":"o9","_type":"quoteOption","group":"feature"}]`, 1))

	const feature = "must be one of blog, seo, chat"
	for _, tt := range []struct{ selections, locale, want string }{ // the messages of the invalid fields
		{`{"projectType": "web-app", "features": ["blog", "seo"], "timeline": "rush"}`, "en", ""},
		{`{}`, "en", ""}, // nothing chosen yet
		{`{"projectType": null, "features": []}`, "en", ""}, // the same in other words
		{`{"features": ["chat"]}`, "en", ""},                // without a price it stays in unpriced
		{`{"features": ["seo", "seo"]}`, "en", ""},          // repeated ones count once
		{`{"features": ["shop"]}`, "ro", ""},                // offered in this language
		{`{"features": ["shop"]}`, "en", "selections.features[0] " + feature},
		{`{"projectType": "webapp"}`, "en", "selections.projectType must be one of web-app"},
		{`{"projectType": "blog"}`, "en", "selections.projectType must be one of web-app"}, // of another field
		{`{"features": ["seo", "cms", "vip"]}`, "en", "selections.features[1] " + feature + "; selections.features[2] " + feature},
		{`{"complexity": "high"}`, "en", "selections.complexity has no allowed value"}, // the CMS has none of this field
		{`{"timeline": "asap", "projectType": "app"}`, "en",
			"selections.projectType must be one of web-app; selections.timeline must be one of rush"},
	} {
		variables := object{"selections": json.RawMessage(tt.selections), "locale": tt.locale}
		got := s.GraphQLOutcome(s.Query(`query($selections: EstimateSelectionsInput!, $locale: Locale) {
			estimateQuote(selections: $selections, locale: $locale, strict: true) { min unpriced } }`, variables))

		var invalid []string
		for _, name := range got.FieldNames() {
			invalid = append(invalid, name+" "+got.Fields[name])
		}
		if strings.Join(invalid, "; ") != tt.want || (got.Code == "") != (tt.want == "") {
			t.Errorf("%s: %s, want %s", tt.selections, got, tt.want)
		}
		if lenient := s.Through("REST", "estimateQuote", variables); lenient.Code != "" {
			t.Errorf("%s by the route: %s", tt.selections, lenient)
		}
	}

	many := make([]string, 50)
	for i := range many {
		many[i] = "x" + strings.Repeat("y", i)
	}
	got := s.GraphQLOutcome(s.Query(`query($f: [String!]) { estimateQuote(selections: {features: $f}, strict: true) { min } }`,
		object{"f": many}))
	if len(got.Fields) != 20 {
		t.Errorf("50 invented features: %d errors: %s", len(got.Fields), got)
	}
}
