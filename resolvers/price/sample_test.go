package price_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/file"
	"siteapi/resolvers/price"
)

// TestSamplePricesAsItsCalculatorDid: the sum in whole hundreds of euros, and the sum and
// 35 percent of it.
func TestSamplePricesAsItsCalculatorDid(t *testing.T) {
	t.Parallel()
	var entries []json.RawMessage
	if err := json.Unmarshal(file.Sample(), &entries); err != nil {
		t.Fatal(err)
	}
	var docs []cms.Document
	for _, entry := range entries {
		docs = append(docs, document(t, string(entry)))
	}

	for _, locale := range []string{"en", "es", "ro"} {
		rules, problems := price.Read(docs, locale, func(string) bool { return true })
		if rules == nil || len(problems) > 0 || rules.ValidDays != 30 || !rules.Enforce || len(rules.Options) < 30 {
			t.Fatalf("%s: %+v, %v", locale, rules, problems)
		}
		for range 1000 {
			var choices []price.Choice
			sum := 0.0
			for _, option := range rules.Options {
				if rand.IntN(3) == 0 {
					choices = append(choices, option.Choice)
					sum += rules.Units(option.Price)
				}
			}
			q := rules.Quote(choices)
			low, high := math.Floor(sum/100+0.5)*100, math.Floor(sum*1.35/100+0.5)*100
			if rules.Units(q.Min) != low || rules.Units(q.Max) != high || rules.Currency != "EUR" {
				t.Fatalf("%s: %+v cost %+v, want %v to %v", locale, choices, q, low, high)
			}
		}
	}
}
