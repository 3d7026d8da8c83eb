package price_test

import (
	"reflect"
	"strings"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/resolvers/price"
)

const euroRules = `{"_id":"quoteRules","_type":"quoteRules","currency":"EUR","spreadPercent":35,"roundTo":100,"enforce":true}`

// read returns the rules that documents have in English.
func read(t *testing.T, texts ...string) (*price.Rules, string) {
	t.Helper()
	var docs []cms.Document
	for _, text := range texts {
		docs = append(docs, document(t, text))
	}
	rules, problems := price.Read(docs, "en", func(code string) bool { return len(code) == 3 && code != "ABC" })
	var text strings.Builder
	for _, problem := range problems {
		text.WriteString(problem.Error() + "\n")
	}
	return rules, text.String()
}

func option(id, group, slug, more string) string {
	return `{"_id":"` + id + `","_type":"quoteOption","group":"` + group + `","slug":{"current":"` + slug + `"}` + more + `}`
}

func TestRulesOutOfBoundsAreLeftOut(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		`"currency":"ABC"`:         `currency "ABC"`,
		`"currency":"XAU"`:         `currency "XAU"`,
		`"currency":7`:             `currency ""`,
		`"spreadPercent":-1`:       "spreadPercent is not a number from 0 to 1000",
		`"spreadPercent":null`:     "spreadPercent is missing",
		`"spreadPercent":0.00001`:  "spreadPercent has more than 4 decimals",
		`"roundTo":0`:              "roundTo is not above 0",
		`"roundTo":0.001`:          "roundTo has more than 2 decimals",
		`"roundTo":"100"`:          "roundTo is not a number",
		`"minimum":-1`:             "minimum is not a number",
		`"minimum":1e10`:           "minimum is not a number from 0 to 1e+09",
		`"validDays":0`:            "validDays is not a number from 1 to 3650",
		`"validDays":1.5`:          "validDays has more than 0 decimals",
		`"enforce":"yes"`:          "enforce is neither true nor false",
		`"_id":"rules-of-another"`: "only the document with the _id quoteRules counts",
	} {
		text := strings.TrimSuffix(euroRules, "}") + "," + change + "}"
		if rules, problems := read(t, text); rules != nil || !strings.Contains(problems, want) {
			t.Errorf("%s: rules %+v, problems %q, want %q", change, rules, problems, want)
		}
	}
	if rules, problems := read(t, option("a", "feature", "blog", "")); rules != nil || problems != "" {
		t.Errorf("without the document there are the rules %+v and the problems %q", rules, problems)
	}
}

func TestDefaultsOfTheRules(t *testing.T) {
	t.Parallel()
	rules, problems := read(t, `{"_id":"quoteRules","_type":"quoteRules","currency":"KWD","spreadPercent":12.5,"roundTo":0.005}`)
	want := &price.Rules{Locale: "en", Currency: "KWD", Spread: 125_000, RoundTo: 5, ValidDays: 30}
	if rules != nil {
		want.Revision = rules.Revision
	}
	if !reflect.DeepEqual(rules, want) || problems != "" {
		t.Errorf("got %+v, %s", rules, problems)
	}
}

// TestOptionsWithoutAPrice are reported, and are unpriced where they are chosen.
func TestOptionsWithoutAPrice(t *testing.T) {
	t.Parallel()
	rules, problems := read(t, euroRules,
		option("free", "feature", "free", `,"price":0`),
		option("none", "feature", "none", ""),
		option("null", "feature", "null", `,"price":null`),
		option("text", "feature", "text", `,"price":"12"`),
		option("negative", "feature", "negative", `,"price":-1`),
		option("fine", "feature", "fine", `,"price":1.005`),
		option("half", "feature", "half", `,"price":1,"percent":-101`),
		option("group", "extras", "group", `,"price":1`))
	var chosen []price.Choice
	for _, slug := range []string{"free", "none", "null", "text", "negative", "fine", "half", "group"} {
		chosen = append(chosen, price.Choice{Field: "features", Slug: slug})
	}
	q := rules.Quote(chosen)
	if strings.Join(q.Unpriced, " ") != "none null text negative fine half group" || !q.Priced || q.Min != 0 {
		t.Errorf("got %+v", q)
	}
	for _, want := range []string{
		`document "none": it has neither a price nor a percent`,
		`document "null": it has neither`,
		`document "text": its price is not a number from 0 to 1e+09`,
		`document "negative": its price is not`,
		`document "fine": its price has more than 2 decimals`,
		`document "half": its percent is not a number from -100 to 1000`,
	} {
		if !strings.Contains(problems, want) {
			t.Errorf("the problems lack %q:\n%s", want, problems)
		}
	}
}

// TestOneOptionOfTwoPrices: that of the locale's own language, then that with the lesser id.
func TestOneOptionOfTwoPrices(t *testing.T) {
	t.Parallel()
	rules, _ := read(t, euroRules,
		option("a", "feature", "blog", `,"price":100`),
		option("b", "feature", "blog", `,"price":200`),
		option("c", "feature", "blog", `,"price":300,"language":"en"`),
		option("d", "feature", "blog", `,"price":400,"language":"en"`),
		option("e", "feature", "blog", `,"price":500,"language":"es"`),
		option("f", "projectType", "blog", `,"price":7000`),
		option("g", "feature", "shop", `,"price":100`),
		option("h", "feature", "shop", `,"price":200`))
	q := rules.Quote([]price.Choice{{Field: "features", Slug: "blog"}, {Field: "features", Slug: "shop"}})
	if want := []price.Line{{Field: "features", Slug: "blog", Amount: 30_000}, {Field: "features", Slug: "shop", Amount: 10_000}}; !reflect.DeepEqual(q.Lines, want) {
		t.Errorf("got %+v", q.Lines)
	}
	if q := rules.Quote([]price.Choice{{Field: "projectType", Slug: "blog"}}); q.Min != 700_000 {
		t.Errorf("the same slug of another group costs %d", q.Min)
	}
}

// TestRevision follows everything in the rules, and nothing else.
func TestRevision(t *testing.T) {
	t.Parallel()
	blog := option("a", "feature", "blog", `,"price":100,"label":{"en":"Blog"}`)
	rules, _ := read(t, euroRules, blog)
	first := rules.Revision
	if !price.IsRevision(first) || price.IsRevision(first+"00") || price.IsRevision(strings.Replace(first, first[:1], "x", 1)) {
		t.Errorf("%q is not told from what is no revision", first)
	}
	for name, texts := range map[string][]string{
		"label": {euroRules, strings.Replace(blog, "Blog", "Journal", 1)},
		"order": {blog, euroRules},
	} {
		if same, _ := read(t, texts...); same.Revision != first {
			t.Errorf("%s changes the revision", name)
		}
	}
	for name, texts := range map[string][]string{
		"enforce":   {strings.Replace(euroRules, "true", "false", 1), blog},
		"validDays": {strings.Replace(euroRules, "}", `,"validDays":7}`, 1), blog},
		"price":     {euroRules, strings.Replace(blog, "100", "101", 1)},
		"percent":   {euroRules, strings.Replace(blog, `"price"`, `"percent"`, 1)},
		"slug":      {euroRules, strings.Replace(blog, `"blog"`, `"blogs"`, 1)},
		"currency":  {strings.Replace(euroRules, "EUR", "USD", 1), blog},
		"spread":    {strings.Replace(euroRules, "35", "36", 1), blog},
		"roundTo":   {strings.Replace(euroRules, ":100", ":50", 1), blog},
		"minimum":   {strings.Replace(euroRules, "}", `,"minimum":1}`, 1), blog},
		"option":    {euroRules, blog, option("b", "feature", "shop", `,"price":1`)},
	} {
		if other, _ := read(t, texts...); other.Revision == first {
			t.Errorf("%s does not change the revision", name)
		}
	}

	stored, err := rules.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := price.Decode(stored)
	if err != nil || again.Revision != first || again.Locale != "en" {
		t.Errorf("stored rules are read as %+v, %v", again, err)
	}
}

func TestRangesNoRequestCarries(t *testing.T) {
	t.Parallel()
	texts := []string{euroRules}
	var chosen []price.Choice
	for _, slug := range []string{"a", "b", "c"} {
		texts = append(texts, option(slug, "feature", slug, `,"price":1000000000,"percent":1000`))
		chosen = append(chosen, price.Choice{Field: "features", Slug: slug})
	}
	rules, problems := read(t, texts...)
	const most = 1_000_000_000_00
	q := rules.Quote(chosen)
	if !q.TooLarge || q.Min != most || q.Max != most || q.Lines != nil || problems != "" {
		t.Errorf("got %+v, %s", q, problems)
	}

	// Only the upper bound is too large.
	rules, _ = read(t, euroRules, option("a", "feature", "a", `,"price":999999900`))
	q = rules.Quote(chosen[:1])
	if !q.TooLarge || q.Min != 999_999_900_00 || q.Max != most {
		t.Errorf("got %+v", q)
	}
}

// TestNear compares ranges that were sent with a quote of 1,000 to 1,400 euros.
func TestNear(t *testing.T) {
	t.Parallel()
	rules, _ := read(t, euroRules, option("a", "feature", "blog", `,"price":1000`))
	q := rules.Quote([]price.Choice{{Field: "features", Slug: "blog"}})
	for _, tt := range []struct {
		low, high    float64
		currency     string
		near, covers bool
	}{
		{1000, 1400, "EUR", true, true},
		{900, 1500, "EUR", true, true},
		{899.99, 1400, "EUR", false, false},
		{1000, 1500.01, "EUR", false, true},
		{1000, 1299.99, "EUR", false, true},
		{1000, 1400, "USD", false, false},
		{1, 1, "EUR", false, false},
		{5000, 9000, "EUR", false, true},
	} {
		near, covers := rules.Near(q, tt.low, tt.high, tt.currency), rules.Covers(q, tt.low, tt.currency)
		if near != tt.near || covers != tt.covers {
			t.Errorf("%+v: near %v, covers %v", tt, near, covers)
		}
	}
}
