package price_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/resolvers/price"
)

const euroRules = `{"_id":"quoteRules","_type":"quoteRules","currency":"EUR","spreadPercent":35,"roundTo":100,"enforce":true}`

// read returns the English price rules in documents, and the problems as text.
func read(t *testing.T, texts ...string) (*price.Rules, string) {
	t.Helper()
	var docs []cms.Document
	for _, text := range texts {
		docs = append(docs, document(t, text))
	}
	rules, problems := price.Read(docs, "en")
	var text strings.Builder
	for _, problem := range problems {
		text.WriteString(problem + "\n")
	}
	return rules, text.String()
}

func document(t *testing.T, text string) cms.Document {
	t.Helper()
	d, err := cms.Decode(json.RawMessage(text), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func option(id, group, slug, more string) string {
	return `{"_id":"` + id + `","_type":"quoteOption","group":"` + group + `","slug":{"current":"` + slug + `"}` + more + `}`
}

// features returns selections of features.
func features(slugs ...string) lead.Selections { return lead.Selections{Features: slugs} }

func TestRulesOutOfBoundsAreLeftOut(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		`"currency":"ABC"`:         `currency "ABC"`,
		`"currency":"XAU"`:         `currency "XAU"`,
		`"spreadPercent":-1`:       "spreadPercent is not a number from 0 to 1000",
		`"spreadPercent":null`:     "spreadPercent is missing",
		`"spreadPercent":0.00001`:  "spreadPercent has more than 4 decimals",
		`"roundTo":0`:              "roundTo is not a number from 0.01 to 1e+09",
		`"roundTo":"100"`:          "its roundTo is not a number from 0.01 to 1e+09",
		`"validDays":0`:            "validDays is not a number from 1 to 3650",
		`"enforce":"yes"`:          "its enforce is not true or false",
		`"taxPercent":100.5`:       "its taxPercent is not a number from 0 to 100",
		`"taxPercent":19.125`:      "its taxPercent has more than 2 decimals",
		`"taxIncluded":"yes"`:      "its taxIncluded is not true or false",
		`"taxLabel":19`:            "its taxLabel is not a text of at most 40 characters",
		`"taxNote":{"en":7}`:       "its taxNote is not a text of at most 300 characters",
		`"_id":"rules-of-another"`: "only the document with the _id quoteRules counts",
	} {
		text := strings.TrimSuffix(euroRules, "}") + "," + change + "}"
		if rules, problems := read(t, text); rules != nil || !strings.Contains(problems, want) {
			t.Errorf("%s: rules %+v, problems %q, want %q", change, rules, problems, want)
		}
	}

	// Every wrong field of every document is named, not only the first.
	_, all := read(t, `{"_id":"quoteRules","_type":"quoteRules","currency":7,"enforce":1,"validDays":0.5}`,
		option("o", "feature", "a", `,"price":-1,"percent":"x"`), option("cents", "feature", "b", `,"price":0.25`))
	for _, field := range []string{"currency", "enforce", "spreadPercent", "roundTo", "validDays", "price", "percent"} {
		if !strings.Contains(all, "its "+field) {
			t.Errorf("%s is not among the problems: %s", field, all)
		}
	}
	if strings.Contains(all, "cents") {
		t.Errorf("an option is wrong because of the currency: %s", all)
	}

	rules, problems := read(t, `{"_id":"quoteRules","_type":"quoteRules","currency":"KWD","spreadPercent":12.5,"roundTo":0.005}`)
	want := &price.Rules{Locale: "en", Currency: "KWD", Spread: 125_000, RoundTo: 5, ValidDays: 30}
	if want.Body, want.Revision = rules.Body, rules.Revision; !reflect.DeepEqual(rules, want) || problems != "" {
		t.Errorf("by default %+v, %s", rules, problems)
	}
}

// TestOptionsWithoutAPrice checks that options without a usable price are reported, and
// that a quote lists them as unpriced. No problem follows from another one.
func TestOptionsWithoutAPrice(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]string{
		``:                          "its price is missing, and it has no percent either",
		`,"price":null`:             "its price is missing",
		`,"price":"12"`:             "its price is not a number from 0 to 1e+09",
		`,"price":-1`:               "price is not a number from 0 to 1e+09",
		`,"price":1.005`:            "price has more than 2 decimals",
		`,"price":1,"percent":-9e9`: "percent is not a number from -100 to 1000",

		`,"unit":"m²"`:                                               "its unitPrice is missing, and it has no tiers either",
		`,"unitPrice":1`:                                             "its unit is missing",
		`,"unit":{"en":" "},"unitPrice":1`:                           "its unit is missing",
		`,"unit":5,"unitPrice":1`:                                    "its unit is not a text of at most 40 characters",
		`,"unit":"m²","unitPrice":1.00005`:                           "its unitPrice has more than 4 decimals",
		`,"unit":"m²","unitPrice":1000001`:                           "its unitPrice is not a number from 0 to 1e+06",
		`,"unit":"m²","unitPrice":1,"tiers":[{"unitPrice":1}]`:       "its unitPrice is given together with tiers",
		`,"unit":"m²","tiers":{}`:                                    "its tiers is not a list of 1 to 20 tiers",
		`,"unit":"m²","tiers":[7]`:                                   "its tiers[0].unitPrice is missing",
		`,"unit":"m²","tiers":[` + tiers(21) + `]`:                   "its tiers is not a list of 1 to 20 tiers",
		`,"unit":"m²","tiers":[{"unitPrice":1},{"unitPrice":1}]`:     "its tiers[0].upTo is missing",
		`,"unit":"m²","tiers":[{"upTo":1,"unitPrice":1}]`:            "its tiers[0].upTo is set: the last tier has no upper end",
		`,"unit":"m²","unitPrice":1,"graduated":1`:                   "its graduated is not true or false",
		`,"unit":"m²","unitPrice":1,"minQuantity":0`:                 "its minQuantity is not a number from 0.01 to 1e+06",
		`,"unit":"m²","unitPrice":1,"step":0.001`:                    "its step is not a number from 0.01",
		`,"unit":"m²","unitPrice":1,"step":1.005`:                    "its step has more than 2 decimals",
		`,"unit":"m²","unitPrice":1,"maxQuantity":2e6`:               "its maxQuantity is not a number from 0.01 to 1e+06",
		`,"unit":"m²","unitPrice":1,"minQuantity":9,"maxQuantity":8`: "its minQuantity is above its maxQuantity",
		`,"unit":"m²","unitPrice":1,"step":10,"maxQuantity":5`:       "its maxQuantity is below one step",
		`,"unit":"m²","unitPrice":1,"step":5,"quantity":7`:           "its quantity is not minQuantity plus a multiple of step",

		`,"unit":"m²","tiers":[{"upTo":2,"unitPrice":1},{"upTo":2,"unitPrice":1},{"unitPrice":1}]`: "its tiers[1].upTo is not above",
		`,"unit":"m²","tiers":[{"upTo":2,"unitPrice":1},{"unitPrice":1},{"unitPrice":1}]`:          "its tiers[1].upTo is missing",
	} {
		rules, problems := read(t, euroRules, option("o", "feature", "a", more), option("free", "feature", "free", `,"price":0`))
		q := rules.Quote(features("a", "free"))
		if !strings.Contains(problems, `document "o": `) || !strings.Contains(problems, want) || q.Min != 0 ||
			strings.Join(q.Unpriced, " ") != "a" || len(q.Lines) != 1 || strings.Count(problems, "\n") != 1 {
			t.Errorf("%s: %+v, %s", more, q, problems)
		}
	}
}

// tiers returns this many tiers, which rise by one unit each.
func tiers(n int) string {
	var list strings.Builder
	for i := range n - 1 {
		fmt.Fprintf(&list, `{"upTo":%d,"unitPrice":%d},`, i+1, n-i)
	}
	return list.String() + `{"unitPrice":1}`
}

// TestUnits checks the quantities and prices of choices with a unit, as a manual calculation
// gives them: which are priced, the price of one unit, and the amount.
func TestUnits(t *testing.T) {
	t.Parallel()
	const (
		pages     = `,"unit":"pages","tiers":[{"upTo":10,"unitPrice":100},{"unitPrice":80}]`
		graduated = pages + `,"graduated":true`
		words     = `,"unit":"words","unitPrice":0.085`
		square    = `,"unit":"m²","unitPrice":4.5,"price":50,"minQuantity":20,"maxQuantity":500,"step":0.5`
	)
	for _, tt := range []struct {
		option string
		count  float64
		amount int64 // in cents; 0: there is no price
		each   int64 // in hundredths of a cent; 0: null
	}{
		{pages, 12, 960_00, 80_0000},
		{graduated, 12, 1160_00, 0},
		{pages, 10, 1000_00, 100_0000},
		{graduated, 10, 1000_00, 100_0000},
		{pages, 1, 100_00, 100_0000},
		{pages, 10.5, 0, 0}, // between two steps
		{pages + `,"step":0.5`, 10.5, 840_00, 80_0000},
		{graduated + `,"step":0.5`, 10.5, 1040_00, 0},
		{pages, 0, 0, 0},   // nothing is guessed
		{words, 1, 9, 850}, // 0.085 is rounded half up
		{words, 1234, 104_89, 850},
		{words, 1_000_000, 85_000_00, 850},
		{square, 120, 590_00, 4_5000},
		{square, 20, 140_00, 4_5000},
		{square, 500, 2300_00, 4_5000},
		{square, 19.5, 0, 0},
		{square, 500.5, 0, 0},
		{square, 120.25, 0, 0},
		{`,"unit":"m²","unitPrice":1,"minQuantity":5,"step":10,"maxQuantity":30`, 25, 25_00, 1_0000},
		{`,"unit":"m²","unitPrice":1,"minQuantity":5,"step":10,"maxQuantity":30`, 30, 0, 0},
		{`,"unit":"m²","unitPrice":0.01,"step":0.01`, 0.49, 0, 0}, // less than half a cent
	} {
		rules, problems := read(t, euroRules, option("o", "feature", "a", tt.option))
		s := features("a")
		s.Quantities = []lead.Quantity{{Slug: "b", Count: 7}, {Slug: "a", Count: tt.count}}
		q := rules.Quote(s)
		if problems != "" || len(q.Lines) == 0 && (tt.amount != 0 || len(q.Unpriced) != 1) {
			t.Errorf("%s: %v: %+v, %s", tt.option, tt.count, q, problems)
			continue
		}
		if len(q.Lines) == 0 {
			continue
		}
		each := int64(0)
		if q.Lines[0].UnitPrice != nil {
			each = *q.Lines[0].UnitPrice
		}
		if q.Lines[0].Amount != tt.amount || each != tt.each && tt.amount != 0 {
			t.Errorf("%s: %v: %d at %d, want %d at %d", tt.option, tt.count, q.Lines[0].Amount, each, tt.amount, tt.each)
		}
	}
}

// TestOneOptionOfTwoPrices checks that the option in the locale's language wins, then the
// one with the lower id.
func TestOneOptionOfTwoPrices(t *testing.T) {
	t.Parallel()
	rules, _ := read(t, euroRules,
		option("a", "feature", "blog", `,"price":100`),
		option("d", "feature", "blog", `,"price":400,"language":"en"`),
		option("c", "feature", "blog", `,"price":300,"language":"en"`),
		option("e", "feature", "blog", `,"price":500,"language":"es"`),
		option("f", "projectType", "blog", `,"price":7000`),
		option("h", "feature", "shop", `,"price":200`),
		option("g", "feature", "shop", `,"price":100`))
	q := rules.Quote(features("blog", "shop"))
	if len(q.Lines) != 2 || q.Lines[0].Amount != 300_00 || q.Lines[1].Amount != 100_00 {
		t.Errorf("got %+v", q.Lines)
	}
}

// TestRevision checks that the revision depends on everything in the rules and on nothing
// else.
func TestRevision(t *testing.T) {
	t.Parallel()
	blog := option("a", "feature", "blog", `,"price":100,"label":"Blog"`)
	rules, _ := read(t, euroRules, blog)
	for change, texts := range map[string][]string{
		"":          {strings.Replace(blog, "Blog", "Journal", 1), euroRules},
		"enforce":   {strings.Replace(euroRules, "true", "false", 1), blog},
		"validDays": {strings.Replace(euroRules, "}", `,"validDays":7}`, 1), blog},
		"price":     {euroRules, strings.Replace(blog, "100", "101", 1)},
		"percent":   {euroRules, strings.Replace(blog, `"price"`, `"percent"`, 1)},
		"slug":      {euroRules, strings.Replace(blog, `"blog"`, `"blogs"`, 1)},
		"minimum":   {strings.Replace(euroRules, "}", `,"minimum":1}`, 1), blog},
		"tax":       {strings.Replace(euroRules, "}", `,"taxPercent":0}`, 1), blog},
		"note":      {strings.Replace(euroRules, "}", `,"taxNote":"Exempt"}`, 1), blog},
		"unit":      {euroRules, strings.Replace(blog, `"price"`, `"unit":"posts","unitPrice":1,"price"`, 1)},
	} {
		if other, _ := read(t, texts...); (other.Revision == rules.Revision) != (change == "") {
			t.Errorf("changing %s: %s and %s", change, rules.Revision, other.Revision)
		}
	}

	again, err := price.Decode(rules.Body)
	if err != nil || !reflect.DeepEqual(again, rules) || !price.IsRevision(rules.Revision) {
		t.Errorf("stored rules are read as %+v, %v", again, err)
	}

	// Leads name revisions for years: rules without units and tax keep theirs.
	stored, _ := read(t, euroRules, option("a", "feature", "blog", `,"price":100,"percent":-2.5,"minQuantity":5`))
	if stored.Revision != "9f3ea17560452a105952f697c50a53db" {
		t.Errorf("the revision of older rules changed: %s", stored.Body)
	}
}

// A range above the maximum of an estimate is not a price.
func TestRangesAboveTheMaximum(t *testing.T) {
	t.Parallel()
	for _, amount := range []string{`1000000000,"percent":1000`, "999999900"} { // the second only in its upper bound
		rules, _ := read(t, euroRules, option("a", "feature", "a", `,"price":`+amount))
		const maximum = 1_000_000_000_00
		if q := rules.Quote(features("a")); q.Min != maximum || q.Max != maximum || len(q.Lines) > 0 || len(q.Unpriced) != 1 {
			t.Errorf("%s: %+v", amount, q)
		}
	}
}
