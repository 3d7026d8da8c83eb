package price

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"siteapi/integrations/cms"
)

// Limits of what editors write. A year's validity and a thousand percent are plenty.
const (
	maxPercent   = 1000
	maxValidDays = 3650
	percentPlace = 4 // decimals of a percent
)

// Read returns the rules that the content of a locale has, nil if there are none that can
// be used. The problems name documents that price nothing as they are.
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
	if err := r.identify(); err != nil {
		return nil, append(problems, err)
	}
	return r, problems
}

func problem(doc cms.Document, err error) error { return fmt.Errorf("document %q: %w", doc.ID, err) }

// readRules reads the document quoteRules. Any field that can't be used leaves all rules out.
func readRules(doc cms.Document, locale string, isCurrency func(string) bool) (*Rules, error) {
	f := &fields{}
	if err := json.Unmarshal(doc.Fields, &f.values); err != nil {
		return nil, err
	}

	r := &Rules{Locale: locale, Currency: f.text("currency"), Enforce: f.boolean("enforce")}
	places, ok := exponent(r.Currency)
	if !ok || !isCurrency(r.Currency) {
		return nil, fmt.Errorf("its currency %.20q is not one of ISO 4217", r.Currency)
	}
	r.Spread = f.number("spreadPercent", percentPlace, required, 0, maxPercent)
	r.RoundTo = f.number("roundTo", places, required, 0, maxUnits)
	r.Minimum = f.number("minimum", places, 0, 0, maxUnits)
	r.ValidDays = int(f.number("validDays", 0, 30, 1, maxValidDays))

	if f.err == nil && r.RoundTo == 0 {
		return nil, errors.New("its roundTo is not above 0")
	}
	if f.err != nil {
		return nil, f.err
	}
	return r, nil
}

// readOptions adds the priced options of the content. Of two documents for one slug the one
// in the locale's own language wins, then the one with the lesser id.
func (r *Rules) readOptions(docs []cms.Document) (problems []error) {
	own := map[Choice]bool{}
	for _, doc := range docs {
		if doc.Type != cms.OptionType || doc.Language != "" && doc.Language != r.Locale {
			continue
		}
		choice, ok := choiceOf(doc)
		wins, taken := doc.Language != "", own[choice]
		if _, seen := own[choice]; !ok || seen && (taken || !wins) {
			continue
		}
		own[choice] = wins

		r.Options = slices.DeleteFunc(r.Options, func(o Option) bool { return o.Choice == choice })
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

// fieldFeatures is the field with several choices.
const fieldFeatures = "features"

// fieldOf maps groups of options to the fields that they are chosen for.
func fieldOf(group string) string {
	switch group {
	case "projectType", "complexity", "timeline":
		return group
	case "feature":
		return fieldFeatures
	}
	return ""
}

// choiceOf returns the choice that an option is for; false where it has no slug or no group.
func choiceOf(doc cms.Document) (Choice, bool) {
	group, slug := cms.OptionSlug(doc)
	c := Choice{fieldOf(group), slug}
	return c, c.Field != "" && c.Slug != ""
}

func (r *Rules) readOption(doc cms.Document, choice Choice) (Option, error) {
	f := &fields{}
	if err := json.Unmarshal(doc.Fields, &f.values); err != nil {
		return Option{}, err
	}
	places, _ := exponent(r.Currency)
	o := Option{
		Choice:  choice,
		Price:   f.number("price", places, 0, 0, maxUnits),
		Percent: f.number("percent", percentPlace, 0, -100, maxPercent),
	}
	if f.values["price"] == nil && f.values["percent"] == nil {
		return Option{}, errors.New("it has neither a price nor a percent")
	}
	return o, f.err
}

// fields reads the fields of a document, and keeps the first error.
type fields struct {
	values map[string]any
	err    error
}

// required is a default that no number has.
const required = -1 << 62

// number reads a number with so many decimals at most, from low to high, as an integer.
func (f *fields) number(name string, decimals int, otherwise int64, low, high float64) int64 {
	value, given := f.values[name]
	if !given || value == nil {
		if otherwise == required {
			f.fail("its %s is missing", name)
		}
		return otherwise
	}

	n, ok := value.(float64)
	if !ok || n < low || n > high {
		f.fail("its %s is not a number from %v to %v", name, low, high)
		return 0
	}

	read, ok := decimal(n, decimals)
	if !ok {
		f.fail("its %s has more than %d decimals", name, decimals)
	}
	return read
}

func (f *fields) text(name string) string {
	text, _ := f.values[name].(string)
	return text
}

func (f *fields) boolean(name string) bool {
	value := f.values[name]
	is, ok := value.(bool)
	if value != nil && !ok {
		f.fail("its %s is neither true nor false", name)
	}
	return is
}

func (f *fields) fail(format string, args ...any) { f.err = cmp.Or(f.err, fmt.Errorf(format, args...)) }
