package price

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
// ones. The problems name documents that are not usable for prices.
func Read(docs []cms.Document, locale string, isCurrency func(string) bool) (r *Rules, problems []error) {
	for _, doc := range docs {
		if doc.Type != cms.RulesType {
			continue
		}
		if doc.ID != cms.RulesType {
			problems = append(problems, problem(doc, errors.New("only the document with the _id quoteRules counts")))
			continue
		}

		var err error
		if r, err = readRules(doc, locale, isCurrency); err != nil {
			problems = append(problems, problem(doc, err))
		}
	}

	if r == nil {
		return nil, problems
	}

	problems = append(problems, r.readOptions(docs)...)
	r.identify()
	return r, problems
}

func problem(doc cms.Document, err error) error { return fmt.Errorf("document %q: %w", doc.ID, err) }

// readRules reads the document quoteRules. One unusable field makes all rules unusable.
func readRules(doc cms.Document, locale string, isCurrency func(string) bool) (*Rules, error) {
	var f struct {
		Currency                                   string
		Enforce                                    bool
		SpreadPercent, RoundTo, Minimum, ValidDays *float64
	}
	if err := json.Unmarshal(doc.Fields, &f); err != nil {
		return nil, err
	}
	places, ok := exponent(f.Currency)
	if !ok || !isCurrency(f.Currency) {
		return nil, fmt.Errorf("its currency %.20q is not a currency of ISO 4217", f.Currency)
	}

	r := &Rules{Locale: locale, Currency: f.Currency, Enforce: f.Enforce}
	var days int64
	for _, field := range []struct {
		read      *int64
		name      string
		value     *float64
		decimals  int
		low, high float64
	}{
		{&r.Spread, "spreadPercent", f.SpreadPercent, percentPlace, 0, maxPercent},
		{&r.RoundTo, "roundTo", f.RoundTo, places, 1 / float64(scale(f.Currency)), maxUnits},
		{&r.Minimum, "minimum", cmp.Or(f.Minimum, new(0.0)), places, 0, maxUnits},
		{&days, "validDays", cmp.Or(f.ValidDays, new(30.0)), 0, 1, maxValidDays},
	} {
		var err error
		if *field.read, err = integer(field.name, field.value, field.decimals, field.low, field.high); err != nil {
			return nil, err
		}
	}
	r.ValidDays = int(days)
	return r, nil
}

// readOptions adds the priced options of the content. Of two documents for one slug, the
// one in the locale's language wins, then the one with the lower id.
func (r *Rules) readOptions(docs []cms.Document) (problems []error) {
	fields := map[string]string{
		"projectType": "projectType",
		"feature":     "features",
		"complexity":  "complexity",
		"timeline":    "timeline",
	}

	docs = slices.Clone(docs)
	slices.SortFunc(docs, func(a, b cms.Document) int {
		return cmp.Or(cmp.Compare(b.Language, a.Language), cmp.Compare(a.ID, b.ID))
	})

	seen := map[Choice]bool{}
	for _, doc := range docs {
		group, slug := cms.OptionSlug(doc)
		choice := Choice{fields[group], slug}
		isOther := doc.Type != cms.OptionType || doc.Language != "" && doc.Language != r.Locale
		if isOther || choice.Field == "" || slug == "" || seen[choice] {
			continue
		}
		seen[choice] = true

		option, err := r.readOption(doc, choice)
		if err != nil {
			problems = append(problems, problem(doc, err))
			continue
		}
		r.Options = append(r.Options, option)
	}
	slices.SortFunc(r.Options, func(a, b Option) int { return a.compare(b.Choice) })
	return problems
}

func (r *Rules) readOption(doc cms.Document, choice Choice) (Option, error) {
	var f struct{ Price, Percent *float64 }
	if err := json.Unmarshal(doc.Fields, &f); err != nil {
		return Option{}, err
	}
	if f.Price == nil && f.Percent == nil {
		return Option{}, errors.New("it has neither a price nor a percent")
	}

	places, _ := exponent(r.Currency)
	amount, err := integer("price", cmp.Or(f.Price, new(0.0)), places, 0, maxUnits)
	if err != nil {
		return Option{}, err
	}
	percent, err := integer("percent", cmp.Or(f.Percent, new(0.0)), percentPlace, -100, maxPercent)
	return Option{Choice: choice, Price: amount, Percent: percent}, err
}

// integer converts a number to an integer in units of 10^-decimals. It fails if the
// number is not from low to high or has more decimals.
func integer(name string, value *float64, decimals int, low, high float64) (int64, error) {
	if value == nil {
		return 0, fmt.Errorf("its %s is missing", name)
	}
	if *value < low || *value > high {
		return 0, fmt.Errorf("its %s is not a number from %v to %v", name, low, high)
	}
	n, ok := decimal(*value, decimals)
	if !ok {
		return 0, fmt.Errorf("its %s has more than %d decimals", name, decimals)
	}
	return n, nil
}
