package quotes

import (
	"maps"
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

	for _, tt := range []struct {
		selections object
		locale     string
		want       map[string]string // messages of the invalid fields
	}{
		{object{"projectType": "web-app", "features": []string{"blog", "seo"}, "timeline": "rush"}, "en", nil},
		{object{}, "en", nil}, // nothing chosen yet
		{object{"projectType": nil, "features": []string{}}, "en", nil}, // the same in other words
		{object{"features": []string{"chat"}}, "en", nil},               // without a price it stays in unpriced
		{object{"features": []string{"seo", "seo"}}, "en", nil},         // repeated ones count once
		{object{"features": []string{"shop"}}, "ro", nil},               // offered in this language
		{object{"features": []string{"shop"}}, "en", map[string]string{"selections.features[0]": "must be one of blog, seo, chat"}},
		{object{"projectType": "webapp"}, "en", map[string]string{"selections.projectType": "must be one of web-app"}},
		{object{"projectType": "blog"}, "en", map[string]string{"selections.projectType": "must be one of web-app"}}, // of another field
		{object{"features": []string{"seo", "cms", "vip"}}, "en", map[string]string{
			"selections.features[1]": "must be one of blog, seo, chat", "selections.features[2]": "must be one of blog, seo, chat",
		}},
		{object{"complexity": "high"}, "en", map[string]string{"selections.complexity": "has no allowed value"}}, // the CMS has none of this field
		{object{"timeline": "asap", "projectType": "app"}, "en", map[string]string{
			"selections.projectType": "must be one of web-app", "selections.timeline": "must be one of rush",
		}},
	} {
		got := s.GraphQLOutcome(s.Query(`query($s: EstimateSelectionsInput!, $l: Locale) {
			estimateQuote(selections: $s, locale: $l, strict: true) { min unpriced } }`,
			object{"s": tt.selections, "l": tt.locale}))

		if !maps.Equal(got.Fields, tt.want) || (got.Code == "") != (tt.want == nil) {
			t.Errorf("%v: %s, want %v", tt.selections, got, tt.want)
		}

		lenient := s.Through("REST", "estimateQuote", object{"selections": tt.selections, "locale": tt.locale})
		if lenient.Code != "" {
			t.Errorf("%v by the route: %s", tt.selections, lenient)
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
