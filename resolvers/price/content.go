package price

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"siteapi/integrations/cms"
)

// Limits of the values that editors enter.
const (
	maxPercent   = 1000
	maxValidDays = 3650
	percentPlace = 4 // decimals of a percentage
)

// Read returns the price rules in the content of a locale, or nil if there are no usable
// ones. The problems name documents that are not usable for prices, with each wrong
// field.
func Read(docs []cms.Document, locale string, isCurrency func(string) bool) (r *Rules, problems []string) {
	for _, doc := range docs {
		if doc.Type != cms.RulesType {
			continue
		}
		if doc.ID != cms.RulesType {
			problems = append(problems, fmt.Sprintf("document %q: only the document with the _id quoteRules counts", doc.ID))
			continue
		}

		f := newFields(doc)
		if r = readRules(f, locale, isCurrency); len(f.problems) > 0 {
			r, problems = nil, append(problems, f.problems...)
		}
	}

	if r == nil {
		return nil, problems
	}

	problems = append(problems, r.readOptions(docs)...)
	r.identify()
	return r, problems
}

// fields are the fields of a document, with a problem for each wrong one.
type fields struct {
	id       string
	values   map[string]any
	problems []string
}

func newFields(doc cms.Document) *fields {
	f := &fields{id: doc.ID}
	_ = json.Unmarshal(doc.Fields, &f.values) // drivers return objects only
	return f
}

func (f *fields) wrong(format string, values ...any) {
	f.problems = append(f.problems, fmt.Sprintf("document %q: its "+format, append([]any{f.id}, values...)...))
}

// readRules reads the document quoteRules. One unusable field makes all rules unusable.
func readRules(f *fields, locale string, isCurrency func(string) bool) *Rules {
	r := &Rules{Locale: locale}
	r.Currency, _ = f.values["currency"].(string)
	places, ok := exponent(r.Currency)
	if !ok || !isCurrency(r.Currency) {
		f.wrong("currency %.20q is not a currency of ISO 4217", r.Currency)
	}
	if r.Enforce, ok = f.values["enforce"].(bool); !ok && f.values["enforce"] != nil {
		f.wrong("enforce is not true or false")
	}

	r.Spread = f.integer("spreadPercent", nil, percentPlace, 0, maxPercent)
	r.RoundTo = f.integer("roundTo", nil, places, math.Pow10(-places), maxUnits)
	r.Minimum = f.integer("minimum", 0.0, places, 0, maxUnits)
	r.ValidDays = int(f.integer("validDays", 30.0, 0, 1, maxValidDays))
	return r
}

// readOptions adds the priced options of the content. Of two documents for one slug, the
// one in the locale's language wins, then the one with the lower id.
func (r *Rules) readOptions(docs []cms.Document) (problems []string) {
	docs = slices.Clone(docs)
	slices.SortFunc(docs, func(a, b cms.Document) int {
		return cmp.Or(cmp.Compare(b.Language, a.Language), cmp.Compare(a.ID, b.ID))
	})

	seen := map[Choice]bool{}
	for _, doc := range docs {
		field, slug := cms.OptionSlug(doc)
		choice := Choice{field, slug}
		isOther := doc.Type != cms.OptionType || doc.Language != "" && doc.Language != r.Locale
		if isOther || choice.Field == "" || slug == "" || seen[choice] {
			continue
		}
		seen[choice] = true

		f := newFields(doc)
		option := r.readOption(f, choice)
		if problems = append(problems, f.problems...); len(f.problems) == 0 {
			r.Options = append(r.Options, option)
		}
	}
	slices.SortFunc(r.Options, func(a, b Option) int { return a.compare(b.Choice) })
	return problems
}

func (r *Rules) readOption(f *fields, choice Choice) Option {
	if f.values["price"] == nil && f.values["percent"] == nil {
		f.wrong("price is missing, and it has no percent either")
	}
	places, _ := exponent(r.Currency)
	return Option{
		Choice:  choice,
		Price:   f.integer("price", 0.0, places, 0, maxUnits),
		Percent: f.integer("percent", 0.0, percentPlace, -100, maxPercent),
	}
}

// integer returns a number as an integer in units of 10^-decimals. A number that is not
// from low to high or has more decimals is wrong. A missing one is wrong unless there is
// a standard value.
func (f *fields) integer(name string, standard any, decimals int, low, high float64) int64 {
	given := cmp.Or(f.values[name], standard)
	if given == nil {
		f.wrong("%s is missing", name)
		return 0
	}
	value, isNumber := given.(float64)
	if !isNumber || value < low || value > high {
		f.wrong("%s is not a number from %v to %v", name, low, high)
		return 0
	}
	n, ok := decimal(value, decimals)
	if !ok {
		f.wrong("%s has more than %d decimals", name, decimals)
	}
	return n
}
