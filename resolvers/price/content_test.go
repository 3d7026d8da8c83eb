package price_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"siteapi/integrations/cms"
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
	rules, problems := price.Read(docs, "en", func(code string) bool { return len(code) == 3 && code != "ABC" })
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

// features returns choices of features.
func features(slugs ...string) (choices []price.Choice) {
	for _, slug := range slugs {
		choices = append(choices, price.Choice{Field: "features", Slug: slug})
	}
	return choices
}

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
		`"_id":"rules-of-another"`: "only the document with the _id quoteRules counts",
	} {
		text := strings.TrimSuffix(euroRules, "}") + "," + change + "}"
		if rules, problems := read(t, text); rules != nil || !strings.Contains(problems, want) {
			t.Errorf("%s: rules %+v, problems %q, want %q", change, rules, problems, want)
		}
	}

	// Every wrong field is named, not only the first.
	_, all := read(t, `{"_id":"quoteRules","_type":"quoteRules","currency":7,"enforce":1,"validDays":0.5}`)
	for _, field := range []string{"currency", "enforce", "spreadPercent", "roundTo", "validDays"} {
		if !strings.Contains(all, "its "+field) {
			t.Errorf("%s is not among the problems: %s", field, all)
		}
	}

	rules, problems := read(t, `{"_id":"quoteRules","_type":"quoteRules","currency":"KWD","spreadPercent":12.5,"roundTo":0.005}`)
	want := &price.Rules{Locale: "en", Currency: "KWD", Spread: 125_000, RoundTo: 5, ValidDays: 30}
	if want.Revision = rules.Revision; !reflect.DeepEqual(rules, want) || problems != "" {
		t.Errorf("by default %+v, %s", rules, problems)
	}
}

// TestOptionsWithoutAPrice checks that options without a usable price are reported, and
// that a quote lists them as unpriced.
func TestOptionsWithoutAPrice(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]string{
		``:                          "its price is missing, and it has no percent either",
		`,"price":null`:             "its price is missing",
		`,"price":"12"`:             "its price is not a number from 0 to 1e+09",
		`,"price":-1`:               "price is not a number from 0 to 1e+09",
		`,"price":1.005`:            "price has more than 2 decimals",
		`,"price":1,"percent":-9e9`: "percent is not a number from -100 to 1000",
	} {
		rules, problems := read(t, euroRules, option("o", "feature", "a", more), option("free", "feature", "free", `,"price":0`))
		q := rules.Quote(features("a", "free"))
		if !strings.Contains(problems, `document "o": `) || !strings.Contains(problems, want) || q.Min != 0 ||
			strings.Join(q.Unpriced, " ") != "a" || len(q.Lines) != 1 {
			t.Errorf("%s: %+v, %s", more, q, problems)
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
	} {
		if other, _ := read(t, texts...); (other.Revision == rules.Revision) != (change == "") {
			t.Errorf("changing %s: %s and %s", change, rules.Revision, other.Revision)
		}
	}

	again, err := price.Decode(rules.Encode())
	if err != nil || !reflect.DeepEqual(again, rules) || !price.IsRevision(rules.Revision) {
		t.Errorf("stored rules are read as %+v, %v", again, err)
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
