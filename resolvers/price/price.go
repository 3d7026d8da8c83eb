// Package price computes what a visitor's choices cost by the rules of the content. It
// counts in integer minor units of the currency: nothing is rounded but at the end.
package price

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"slices"
)

// Fields of the lines that are not choices.
const (
	FieldMinimum  = "minimum"
	FieldRounding = "rounding"
)

// Rules price the choices in one locale. Amounts are in minor units of the currency,
// percents in parts of [whole].
type Rules struct {
	Locale   string   `json:"locale"`
	Currency string   `json:"currency"`
	Spread   int64    `json:"spread"` // distance of the upper bound from the lower one
	RoundTo  int64    `json:"roundTo"`
	Minimum  int64    `json:"minimum"`
	Options  []Option `json:"options"` // ordered by field and slug, each once

	ValidDays int  `json:"validDays"`
	Enforce   bool `json:"enforce"` // whether the computed range replaces the one that was sent

	// Revision identifies everything above: equal rules of a locale have the same one.
	Revision string `json:"-"`
}

// whole is a hundred percent: percents have four decimals.
const whole = 1_000_000

// Option is a choice with what it adds to the sum, and the share of the sum that it adds.
type Option struct {
	Choice
	Price   int64 `json:"price,omitempty"`
	Percent int64 `json:"percent,omitempty"`
}

// Choice is a slug in a field of the selections.
type Choice struct {
	Field string `json:"field"`
	Slug  string `json:"slug"`
}

func (c Choice) compare(other Choice) int {
	return cmp.Or(cmp.Compare(c.Field, other.Field), cmp.Compare(c.Slug, other.Slug))
}

// Quote is the price of some choices, in minor units.
type Quote struct {
	Min, Max int64
	// Lines add up to Min: one for each priced choice, then the minimum and the rounding
	// if they change the sum.
	Lines    []Line
	Unpriced []string // slugs of the choices that the rules don't know
	Priced   bool     // whether one of the choices has a price
	TooLarge bool     // the range is cut at the most that an estimate may be, and has no lines
}

// Line is a part of a price.
type Line struct {
	Field  string
	Slug   string // empty for the minimum and the rounding
	Amount int64
}

const revisionLength = 32

// IsRevision reports whether a text has the form of a revision.
func IsRevision(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == revisionLength
}

// Encode returns the rules as they are stored.
func (r *Rules) Encode() (string, error) {
	text, err := json.Marshal(r)
	return string(text), err
}

// Decode reads stored rules.
func Decode(text string) (*Rules, error) {
	r := new(Rules)
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, err
	}
	return r, r.identify()
}

// identify sets the revision.
func (r *Rules) identify() error {
	text, err := r.Encode()
	sum := sha256.Sum256([]byte(text))
	r.Revision = hex.EncodeToString(sum[:revisionLength/2])
	return err
}

// Quote prices some choices. One that is made twice counts once.
func (r *Rules) Quote(choices []Choice) Quote {
	chosen, q := r.choose(choices)
	sum, percents := total(chosen)
	low, high, raised := r.bounds(sum, percents)

	if limit := r.most(); high.Cmp(limit) > 0 {
		q.TooLarge, q.Max = true, limit.Int64()
		q.Min = q.Max
		if low.Cmp(limit) < 0 {
			q.Min = low.Int64()
		}
		return q
	}

	q.Min, q.Max = low.Int64(), high.Int64()
	q.Lines = r.lines(chosen, sum, raised, q.Min)
	return q
}

// most is the most that an estimate may be.
func (r *Rules) most() *big.Int { return product(maxUnits, scale(r.Currency)) }

// bounds returns the rounded range of a sum and its percents, and whether the minimum
// raised it.
func (r *Rules) bounds(sum, percents int64) (low, high *big.Int, raised bool) {
	exact := product(sum, whole+percents) // a multiple of 1/whole
	floor := product(r.Minimum, whole)
	if raised = exact.Cmp(floor) < 0; raised {
		exact = floor
	}

	step := product(r.RoundTo, whole)
	low = rounded(exact, step)
	high = rounded(exact.Mul(exact, big.NewInt(whole+r.Spread)), step.Mul(step, big.NewInt(whole)))

	roundTo := big.NewInt(r.RoundTo)
	return low.Mul(low, roundTo), high.Mul(high, roundTo), raised
}

// total returns the sum of the options' prices, and the sum of their percents. Discounts
// take the whole sum away at most: what goes beyond is cut from the last ones.
func total(chosen []Option) (sum, percents int64) {
	for _, option := range chosen {
		sum += option.Price
		percents += option.Percent
	}

	for i := len(chosen) - 1; percents < -whole; i-- {
		cut := min(-whole-percents, max(0, -chosen[i].Percent))
		chosen[i].Percent += cut
		percents += cut
	}
	return sum, percents
}

// choose returns the options that are chosen, each once and in the order of the choices.
func (r *Rules) choose(choices []Choice) (chosen []Option, q Quote) {
	for i, choice := range choices {
		if slices.Contains(choices[:i], choice) {
			continue
		}
		at, known := slices.BinarySearchFunc(r.Options, choice, func(o Option, c Choice) int { return o.compare(c) })
		if !known {
			q.Unpriced = append(q.Unpriced, choice.Slug)
			continue
		}
		chosen = append(chosen, r.Options[at])
		q.Priced = true
	}
	return chosen, q
}

// lines splits a lower bound into its parts.
func (r *Rules) lines(chosen []Option, sum int64, raised bool, low int64) []Line {
	lines := make([]Line, 0, len(chosen)+2)
	rest := low
	add := func(field, slug string, amount int64) {
		lines = append(lines, Line{field, slug, amount})
		rest -= amount
	}

	for _, option := range chosen {
		share := rounded(product(sum, option.Percent), big.NewInt(whole))
		add(option.Field, option.Slug, option.Price+share.Int64())
	}
	if toMinimum := r.Minimum - (low - rest); raised && toMinimum != 0 {
		add(FieldMinimum, "", toMinimum)
	}
	if rest != 0 {
		add(FieldRounding, "", rest)
	}
	return lines
}

// Near reports whether a range of a currency, in its units, differs from the quote by at
// most the step that bounds are rounded to.
func (r *Rules) Near(q Quote, low, high float64, currency string) bool {
	return currency == r.Currency && distance(r.minor(low), q.Min) <= r.RoundTo &&
		distance(r.minor(high), q.Max) <= r.RoundTo
}

// Covers reports whether a range of a currency, in its units, is for at least the choices
// that a quote prices.
func (r *Rules) Covers(q Quote, low float64, currency string) bool {
	return currency == r.Currency && r.minor(low) >= q.Min-r.RoundTo
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

func product(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

// rounded divides and rounds half up. The divisor is positive.
func rounded(n, d *big.Int) *big.Int {
	twice := new(big.Int).Lsh(n, 1)
	twice.Add(twice, d)
	return twice.Div(twice, new(big.Int).Lsh(d, 1)) // Euclid's division, which rounds down here
}

// Units returns an amount of minor units in units of the currency.
func (r *Rules) Units(minor int64) float64 { return float64(minor) / float64(scale(r.Currency)) }

// SpreadPercent returns the spread in percent.
func (r *Rules) SpreadPercent() float64 { return float64(r.Spread) / (whole / 100) }

// minor returns an amount of units in minor units, to the nearest one.
func (r *Rules) minor(units float64) int64 {
	return int64(math.Round(units * float64(scale(r.Currency))))
}
