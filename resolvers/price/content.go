package price

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// Limits of the values that editors enter.
const (
	maxPercent   = 1000
	maxValidDays = 3650
	percentPlace = 4 // decimals of a percentage

	maxCount   = 1_000_000 // also of the price of a unit
	minCount   = 0.01
	maxTiers   = 20
	maxLabel   = 40 // characters of a unit's or a tax's label
	maxTaxNote = 300
)

// Read returns the price rules in the content of a locale, or nil if there are no usable
// ones. The problems name documents that are not usable for prices, with each wrong
// field.
func Read(docs []cms.Document, locale string) (r *Rules, problems []string) {
	usable := false
	for _, doc := range docs {
		if doc.Type != cms.RulesType {
			continue
		}
		if doc.ID != cms.RulesType {
			problems = append(problems,
				fmt.Sprintf("document %q: only the document with the _id quoteRules counts", doc.ID))
			continue
		}

		f := newFields(doc)
		r = readRules(f, locale)
		usable, problems = len(f.problems) == 0, append(problems, f.problems...)
	}

	// Editors see the problems of all documents at once.
	if r != nil {
		problems = append(problems, r.readOptions(docs)...)
	}
	if !usable {
		return nil, problems
	}
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
	f.problems = append(f.problems,
		fmt.Sprintf("document %q: its "+format, append([]any{f.id}, values...)...))
}

// readRules reads the document quoteRules. One unusable field makes all rules unusable.
func readRules(f *fields, locale string) *Rules {
	r := &Rules{Locale: locale}
	r.Currency, _ = f.values["currency"].(string)
	places, ok := exponent(r.Currency)
	if !ok || !schema.IsCurrency(r.Currency) {
		f.wrong("currency %.20q is not a currency of ISO 4217", r.Currency)
	}
	r.Enforce = f.flag("enforce")

	r.Spread = f.integer("spreadPercent", nil, percentPlace, 0, maxPercent)
	r.RoundTo = f.integer("roundTo", nil, places, math.Pow10(-places), maxUnits)
	r.Minimum = f.integer("minimum", 0.0, places, 0, maxUnits)
	r.ValidDays = int(f.integer("validDays", 30.0, 0, 1, maxValidDays))

	tax := &Tax{Included: f.flag("taxIncluded"), Label: f.localized("taxLabel", maxLabel)}
	if f.values["taxPercent"] != nil {
		r.Tax, tax.Percent = tax, f.integer("taxPercent", nil, 2, 0, 100)
	}
	r.TaxNote = f.localized("taxNote", maxTaxNote)
	return r
}

// flag returns a value that is true or false. A missing one is false.
func (f *fields) flag(name string) bool {
	value, ok := f.values[name].(bool)
	if !ok && f.values[name] != nil {
		f.wrong("%s is not true or false", name)
	}
	return value
}

// localized returns a string by language, or nil if it is missing. One that is wrong is empty.
func (f *fields) localized(name string, limit int) (label lead.Localized) {
	texts, ok := cms.Texts(f.values[name])
	for language, text := range texts {
		if label == nil {
			label = lead.Localized{}
		}
		label[language] = lead.OneLine(text)
		ok = ok && utf8.RuneCountInString(text) <= limit
	}
	if !ok {
		f.wrong("%s is not a text of at most %d characters in each language", name, limit)
		return lead.Localized{}
	}
	return label
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
	places, _ := exponent(r.Currency)
	o := Option{
		Choice:  choice,
		Price:   f.integer("price", 0.0, places, 0, maxUnits),
		Percent: f.integer("percent", 0.0, percentPlace, -100, maxPercent),
		Unit:    f.unit(),
	}
	if o.Unit == nil && f.values["price"] == nil && f.values["percent"] == nil {
		f.wrong("price is missing, and it has no percent either")
	}
	return o
}

// unit reads how an option is priced by its quantity. It returns nil if it is not.
func (f *fields) unit() *Unit {
	label, tiers := f.localized("unit", maxLabel), f.tiers()
	if unitPrice := f.values["unitPrice"]; unitPrice != nil && tiers != nil {
		f.wrong("unitPrice is given together with tiers")
	} else if unitPrice != nil {
		tiers = []Tier{{Price: f.integer("unitPrice", nil, unitPricePlaces, 0, maxCount)}}
	}

	switch {
	case label == nil && tiers == nil:
		return nil
	case label == nil:
		f.wrong("unit is missing")
	case tiers == nil:
		f.wrong("unitPrice is missing, and it has no tiers either")
	}

	u := &Unit{Label: label, Tiers: tiers, Graduated: f.flag("graduated")}
	count := func(name string, standard float64) int64 {
		return f.integer(name, standard, countPlaces, minCount, maxCount)
	}
	u.Step = max(1, count("step", 1))
	u.Min = count("minQuantity", float64(u.Step)/100)
	u.Max = count("maxQuantity", maxCount)
	u.Quantity = count("quantity", float64(max(1, u.Min))/100)

	if min(u.Min, u.Max, u.Quantity) == 0 { // The problem is that one of them is wrong.
		return u
	}
	if u.Min > u.Max && f.values["minQuantity"] == nil {
		f.wrong("maxQuantity is below one step, the smallest quantity")
	} else if u.Min > u.Max {
		f.wrong("minQuantity is above its maxQuantity")
	} else if u.Check(lead.Quantity{Count: float64(u.Quantity) / 100}) != "" {
		f.wrong("quantity is not minQuantity plus a multiple of step, up to maxQuantity")
	}
	return u
}

// tiers reads the tiers of an option. It returns nil if there are none, and an empty list if
// they are wrong as a whole.
func (f *fields) tiers() (tiers []Tier) {
	list, ok := f.values["tiers"].([]any)
	if !ok && f.values["tiers"] != nil || len(list) > maxTiers {
		f.wrong("tiers is not a list of 1 to %d tiers", maxTiers)
		return []Tier{}
	}

	rises := int64(0)
	for i, item := range list {
		upTo, unitPrice := fmt.Sprintf("tiers[%d].upTo", i), fmt.Sprintf("tiers[%d].unitPrice", i)
		tier, _ := item.(map[string]any)
		f.values[upTo], f.values[unitPrice] = tier["upTo"], tier["unitPrice"]

		next := Tier{Price: f.integer(unitPrice, nil, unitPricePlaces, 0, maxCount)}
		if i < len(list)-1 {
			next.UpTo = f.integer(upTo, nil, countPlaces, minCount, maxCount)
			if next.UpTo > 0 && next.UpTo <= rises { // 0: it is wrong already
				f.wrong("%s is not above that of the tier before", upTo)
			}
			rises = max(rises, next.UpTo)
		} else if tier["upTo"] != nil {
			f.wrong("%s is set: the last tier has no upper end", upTo)
		}
		tiers = append(tiers, next)
	}
	return tiers
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
