// Package price computes the price of a visitor's choices by the price rules of the
// content. It calculates in integer minor units of the currency and rounds only at the
// end.
package price

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"slices"

	"siteapi/integrations/lead"
)

// Rules price the choices in one locale. Amounts are in minor units of the currency,
// percentages in parts of [whole].
type Rules struct {
	Locale   string   `json:"locale"`
	Currency string   `json:"currency"`
	Spread   int64    `json:"spread"` // distance of the upper bound from the lower one
	RoundTo  int64    `json:"roundTo"`
	Minimum  int64    `json:"minimum"`
	Options  []Option `json:"options"` // ordered by field and slug, each once

	ValidDays int  `json:"validDays"`
	Enforce   bool `json:"enforce"` // whether the computed range replaces the client's

	Tax     *Tax           `json:"tax,omitempty"` // nil: the rules say nothing of it
	TaxNote lead.Localized `json:"taxNote,omitempty"`

	// Body is the stored form of everything above. Revision identifies it: equal rules of a
	// locale have the same revision.
	Body     string `json:"-"`
	Revision string `json:"-"`
}

// whole is a hundred percent: percentages have four decimals.
const whole = 1_000_000

// Option is a choice with the amount and the percentage that it adds to the sum.
type Option struct {
	Choice
	Price   int64 `json:"price,omitempty"`
	Percent int64 `json:"percent,omitempty"`
	Unit    *Unit `json:"unit,omitempty"` // nil: its quantity does not matter
}

// Choice is a slug in a field of the selections.
type Choice struct {
	Field string `json:"field"`
	Slug  string `json:"slug"`
}

// Fields lists the fields of the selections in the order of the form.
var Fields = []string{"projectType", "features", "complexity", "timeline"}

// Choices returns the choices of selections in the order of the form, each once.
func Choices(s lead.Selections) (chosen []Choice) {
	add := func(field string, slugs ...string) {
		for _, slug := range slugs {
			if choice := (Choice{field, slug}); slug != "" && !slices.Contains(chosen, choice) {
				chosen = append(chosen, choice)
			}
		}
	}
	add("projectType", s.ProjectType)
	add("features", s.Features...)
	add("complexity", s.Complexity)
	add("timeline", s.Timeline)
	return chosen
}

func (c Choice) compare(other Choice) int {
	return cmp.Or(cmp.Compare(c.Field, other.Field), cmp.Compare(c.Slug, other.Slug))
}

// Quote is the price of choices, in minor units.
type Quote struct {
	Min, Max int64
	// Lines add up to Min: one for each priced choice, then the minimum and the rounding
	// if they change the sum.
	Lines    []Line
	Unpriced []string // slugs of choices that the rules do not price
}

// ToBeAgreed reports whether there is no price: none of the choices has one, or all are free.
func (q *Quote) ToBeAgreed() bool {
	priced := slices.ContainsFunc(q.Lines, func(line Line) bool { return line.Slug != "" })
	return q.Max == 0 || !priced
}

// Line is a part of a price. The minimum and the rounding have only the field of their
// option.
type Line struct {
	Option
	Amount    int64
	Count     int64  // quantity in hundredths; 0 without a unit
	UnitPrice *int64 // as in [Tier]; nil if the units have different prices
}

const revisionLength = 32

// IsRevision reports whether a string has the form of a revision.
func IsRevision(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == revisionLength
}

// Decode reads stored rules.
func Decode(text string) (*Rules, error) {
	r := new(Rules)
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, err
	}
	r.identify()
	return r, nil
}

// identify sets the stored form and the revision.
func (r *Rules) identify() {
	text, _ := json.Marshal(r) //nolint:errchkjson // strings and numbers
	sum := sha256.Sum256(text)
	r.Body, r.Revision = string(text), hex.EncodeToString(sum[:revisionLength/2])
}

// Option returns the option of a choice, or nil if there are no rules or they have none.
func (r *Rules) Option(choice Choice) *Option {
	if r == nil {
		return nil
	}
	at, known := slices.BinarySearchFunc(r.Options, choice,
		func(o Option, c Choice) int { return o.compare(c) })
	if !known {
		return nil
	}
	return &r.Options[at]
}

// Quote prices the choices of selections.
func (r *Rules) Quote(s lead.Selections) (q Quote) {
	choices := Choices(s)
	sum, factor := int64(0), int64(whole)
	for _, choice := range choices {
		option := r.Option(choice)
		if option == nil || option.Unit.Check(s.Quantity(choice.Slug)) != "" {
			q.Unpriced = append(q.Unpriced, choice.Slug)
			continue
		}
		line := r.line(option, s.Quantity(choice.Slug))
		q.Lines = append(q.Lines, line)
		sum += line.Amount
		factor += line.Percent
	}

	// Both amounts are in parts of whole.
	exact, floor := product(sum, factor), product(r.Minimum, whole)
	raised := exact.Cmp(floor) < 0
	if raised {
		exact = floor
	}
	parts := big.NewInt(whole)
	low := r.round(exact, parts)
	high := r.round(exact.Mul(exact, big.NewInt(whole+r.Spread)), parts.Mul(parts, parts))

	// A price above the maximum of an estimate is agreed with the visitor.
	if limit := maxUnits * scale(r.Currency); high.Cmp(big.NewInt(limit)) > 0 {
		q = Quote{Min: limit, Max: limit}
		for _, choice := range choices {
			q.Unpriced = append(q.Unpriced, choice.Slug)
		}
		return q
	}

	q.Min, q.Max = low.Int64(), high.Int64()
	q.Lines = r.lines(q.Lines, sum, raised, q.Min)
	return q
}

// round rounds half up to a multiple of RoundTo. amount is in fractions of a minor unit, of
// which parts make one.
func (r *Rules) round(amount, parts *big.Int) *big.Int {
	roundTo := big.NewInt(r.RoundTo)
	steps := rounded(amount, new(big.Int).Mul(parts, roundTo))
	return steps.Mul(steps, roundTo)
}

// line returns the line of an option without its percentage of the sum.
func (r *Rules) line(option *Option, quantity lead.Quantity) Line {
	line := Line{Option: *option, Amount: option.Price}
	if option.Unit != nil {
		line.Count, _ = decimal(quantity.Count, countPlaces)
		var cost *big.Int
		cost, line.UnitPrice = option.Unit.cost(line.Count)
		line.Amount += rounded(cost, big.NewInt(costParts/scale(r.Currency))).Int64()
	}
	return line
}

// lines splits a lower bound into its parts. Chosen has the lines of the choices without
// their percentages.
func (r *Rules) lines(chosen []Line, sum int64, raised bool, low int64) []Line {
	lines := make([]Line, 0, len(chosen)+2)
	rest := low
	add := func(line Line, amount int64) {
		line.Amount = amount
		lines = append(lines, line)
		rest -= amount
	}

	for _, line := range chosen {
		share := rounded(product(sum, line.Percent), big.NewInt(whole))
		add(line, line.Amount+share.Int64())
	}
	if toMinimum := r.Minimum - (low - rest); raised && toMinimum != 0 {
		add(Line{Option: Option{Choice: Choice{Field: lead.LineMinimum}}}, toMinimum)
	}
	if rest != 0 {
		add(Line{Option: Option{Choice: Choice{Field: lead.LineRounding}}}, rest)
	}
	return lines
}

// Near reports whether a range, in units of a currency, differs from the quote by at most
// RoundTo, to which its bounds are rounded.
func (r *Rules) Near(q Quote, low, high float64, currency string) bool {
	return currency == r.Currency && distance(r.minor(low), q.Min) <= r.RoundTo &&
		distance(r.minor(high), q.Max) <= r.RoundTo
}

// Covers reports whether a range with the lower bound low, in units of a currency, covers
// the priced choices of a quote. The bound may be lower than the price by RoundTo.
func (r *Rules) Covers(q Quote, low float64, currency string) bool {
	return currency == r.Currency && r.minor(low) >= q.Min-r.RoundTo
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

func product(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

// rounded divides and rounds half up. The divisor is positive.
func rounded(n, d *big.Int) *big.Int {
	twice := new(big.Int).Lsh(n, 1)
	twice.Add(twice, d)
	return twice.Div(twice, new(big.Int).Lsh(d, 1)) // Euclidean division, which rounds down here
}

// Units converts minor units to units of the currency.
func (r *Rules) Units(minor int64) float64 { return float64(minor) / float64(scale(r.Currency)) }

// minor converts units of the currency to minor units, rounded to the nearest one.
func (r *Rules) minor(units float64) int64 {
	return int64(math.Round(units * float64(scale(r.Currency))))
}
