package price_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/resolvers/price"
)

// site is a random configuration of the calculator.
type site struct {
	currency                 string
	places                   int
	spread, roundTo, minimum *big.Rat
	tax                      *big.Rat
	taxIncluded              bool
	options                  map[string]choice // by slug of a feature
}

// choice is a random choice. It has a unit if it has tiers.
type choice struct {
	price, percent *big.Rat
	tiers          []tier
	graduated      bool
	min, max, step *big.Rat
}

type tier struct{ upTo, price *big.Rat } // upTo is nil for the last one

// TestQuoteEqualsItsModel compares the ranges, lines and taxes of 100,000 random choices with
// those of an independent model in fractions.
func TestQuoteEqualsItsModel(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for range 1000 {
		s := newSite(random)
		rules, problems := price.Read(s.documents(t), "en")
		if len(problems) > 0 {
			t.Fatalf("seed %d: %v", seed, problems)
		}
		for range 100 {
			var chosen lead.Selections
			for _, i := range random.Perm(len(slugs))[:random.IntN(len(slugs))] {
				chosen.Features = append(chosen.Features, slugs[i])
				if count := s.options[slugs[i]].count(random); count != nil {
					number, _ := count.Float64()
					chosen.Quantities = append(chosen.Quantities, lead.Quantity{Slug: slugs[i], Count: number})
				}
			}

			quote := rules.Quote(chosen)
			got, sum := result{min: quote.Min, max: quote.Max, unpriced: strings.Join(quote.Unpriced, " ")}, int64(0)
			for _, line := range quote.Lines {
				sum += line.Amount
				if line.Slug != "" {
					got.lines = append(got.lines, fmt.Sprint(line.Slug, " ", line.Amount, " ", line.UnitPrice == nil))
				}
			}
			if tax := rules.TaxOf(rules.Units(quote.Min), rules.Units(quote.Max)); tax != nil {
				got.tax = fmt.Sprint(tax.Min, " ", tax.Max)
			}
			want := s.model(chosen)
			if !reflect.DeepEqual(got, want) || sum != got.min && len(quote.Lines) > 0 {
				t.Fatalf("seed %d: %+v of %s\ngot  %+v, lines of %d\nwant %+v", seed, chosen, rules.Body, got, sum, want)
			}
		}
	}
}

var slugs = []string{"a", "b", "c", "d", "e", "f", "g", "h"}

// decimalOf returns a random number from low with at most this many decimals.
func decimalOf(random *rand.Rand, low, span int64, places int) *big.Rat {
	tens := int64(1)
	for range random.IntN(places + 1) {
		tens *= 10
	}
	return big.NewRat(low*tens+random.Int64N(span*tens), tens)
}

func newSite(random *rand.Rand) *site {
	kind := random.IntN(4)
	s := &site{
		currency: []string{"JPY", "EUR", "KWD", "CLF"}[kind],
		places:   []int{0, 2, 3, 4}[kind],
		options:  map[string]choice{},
	}
	s.spread = decimalOf(random, 0, 200, 4)
	s.roundTo = decimalOf(random, 1, 1+random.Int64N(1000), s.places)
	s.minimum = decimalOf(random, 0, 1+random.Int64N(20000), s.places)
	if random.IntN(3) > 0 {
		s.tax, s.taxIncluded = decimalOf(random, 0, 101, 2), random.IntN(2) > 0
		if s.tax.Cmp(big.NewRat(100, 1)) > 0 {
			s.tax = big.NewRat(100, 1)
		}
	}

	for _, slug := range slugs {
		o := choice{price: new(big.Rat), percent: new(big.Rat)}
		kind := random.IntN(8) // the last kind has no document
		if kind%3 == 0 {
			o.price = decimalOf(random, 0, 1+random.Int64N(30000), s.places)
		}
		if kind%3 == 1 {
			o.percent = decimalOf(random, -100, 250, 4)
		}
		if kind > 3 {
			o.setUnit(random)
		}
		if kind < 7 {
			s.options[slug] = o
		}
	}
	return s
}

// setUnit gives an option a unit with up to 20 tiers. Rarely, both its quantities and its
// prices reach a million.
func (o *choice) setUnit(random *rand.Rand) {
	most := []int64{9, 1000, 1000, 999_999}[random.IntN(4)]
	o.step = decimalOf(random, 1, 1+random.Int64N(9), 2)
	o.min = decimalOf(random, 1, 1+random.Int64N(20), 2)
	o.max = new(big.Rat).Add(o.min, decimalOf(random, 0, most, 2))
	if million := big.NewRat(1_000_000, 1); o.max.Cmp(million) > 0 || most > 1000 {
		o.max = million
	}

	o.graduated = random.IntN(2) > 0
	upTo := new(big.Rat)
	for range random.IntN(20) {
		upTo = new(big.Rat).Add(upTo, decimalOf(random, 1, 1+random.Int64N(most/4+1), 2))
		if upTo.Cmp(big.NewRat(1_000_000, 1)) > 0 {
			break
		}
		o.tiers = append(o.tiers, tier{upTo, decimalOf(random, 0, most+1, 4)})
	}
	o.tiers = append(o.tiers, tier{nil, decimalOf(random, 0, most+1, 4)})
	if most > 1000 && random.IntN(4) == 0 {
		o.tiers[len(o.tiers)-1].price = big.NewRat(1_000_000, 1)
	}
}

// count returns a random quantity: often one at an end, at the end of a tier or just beyond it,
// sometimes one that is not allowed, or nil.
func (o choice) count(random *rand.Rand) *big.Rat {
	if o.tiers == nil {
		return nil
	}
	count := new(big.Rat)
	switch random.IntN(8) {
	case 0:
		return nil
	case 1:
		count.Set(o.min)
	case 2:
		count.Set(o.max)
	case 3, 4:
		if at := o.tiers[random.IntN(len(o.tiers))].upTo; at != nil {
			count.Set(at)
		}
		fallthrough
	default: // the next one that is allowed
		if kind := random.IntN(4); kind == 0 {
			count.Add(count, decimalOf(random, 1, 100, 2))
		} else {
			steps := new(big.Rat).Quo(new(big.Rat).Sub(count, o.min), o.step)
			whole := new(big.Int).Quo(steps.Num(), steps.Denom())
			whole.Add(whole, big.NewInt(random.Int64N(3)))
			count.Add(o.min, new(big.Rat).Mul(o.step, new(big.Rat).SetInt(whole)))
		}
	}
	if count.Sign() <= 0 {
		return nil
	}
	return count
}

// documents returns the CMS documents of the site.
func (s *site) documents(t *testing.T) []cms.Document {
	t.Helper()
	tax := ""
	if s.tax != nil {
		tax = fmt.Sprintf(`,"taxPercent":%s,"taxIncluded":%v`, s.tax.FloatString(2), s.taxIncluded)
	}
	docs := []cms.Document{document(t, fmt.Sprintf(
		`{"_id":"quoteRules","_type":"quoteRules","currency":%q,"spreadPercent":%s,"roundTo":%s,"minimum":%s%s}`,
		s.currency, s.spread.FloatString(4), s.roundTo.FloatString(s.places), s.minimum.FloatString(s.places), tax))}
	for slug, o := range s.options {
		text := fmt.Sprintf(`,"price":%s,"percent":%s`, o.price.FloatString(s.places), o.percent.FloatString(4))
		if o.tiers != nil {
			var list []string
			for _, t := range o.tiers {
				upTo := "null"
				if t.upTo != nil {
					upTo = t.upTo.FloatString(2)
				}
				list = append(list, fmt.Sprintf(`{"upTo":%s,"unitPrice":%s}`, upTo, t.price.FloatString(4)))
			}
			text += fmt.Sprintf(`,"unit":"m²","graduated":%v,"minQuantity":%s,"maxQuantity":%s,"step":%s,"tiers":[%s]`,
				o.graduated, o.min.FloatString(2), o.max.FloatString(2), o.step.FloatString(2), strings.Join(list, ","))
		}
		docs = append(docs, document(t, option(slug, "feature", slug, text)))
	}
	return docs
}

// result is what the model and the code must agree on.
type result struct {
	min, max int64 // minor units
	unpriced string
	lines    []string
	tax      string
}

// model prices choices in fractions of units.
func (s *site) model(chosen lead.Selections) (r result) {
	type line struct {
		slug            string
		amount, percent *big.Rat
		mixed           bool
	}
	var lines []line
	var unpriced []string
	sum, factor, hundred := new(big.Rat), big.NewRat(1, 1), big.NewRat(100, 1)
	for _, slug := range chosen.Features {
		o, known := s.options[slug]
		count := new(big.Rat).SetFrac(big.NewInt(int64(chosen.Quantity(slug).Count*100+0.5)), big.NewInt(100))
		if !known || o.tiers != nil && !o.allows(count) {
			unpriced = append(unpriced, slug)
			continue
		}

		cost, mixed := o.cost(count)
		amount := new(big.Rat).Add(o.price, s.rounded(cost, s.minor()))
		lines = append(lines, line{slug, amount, o.percent, mixed || o.tiers == nil})
		sum.Add(sum, amount)
		factor.Add(factor, new(big.Rat).Quo(o.percent, hundred))
	}

	least := new(big.Rat).Mul(sum, factor)
	if least.Cmp(s.minimum) < 0 {
		least.Set(s.minimum)
	}
	most := new(big.Rat).Mul(least, new(big.Rat).Add(big.NewRat(1, 1), new(big.Rat).Quo(s.spread, hundred)))
	low, high := s.rounded(least, s.roundTo), s.rounded(most, s.roundTo)

	if limit := big.NewRat(1_000_000_000, 1); high.Cmp(limit) > 0 {
		low, high = limit, limit
		lines, unpriced = nil, chosen.Features
	}
	r.min, r.max, r.unpriced = s.inMinor(low), s.inMinor(high), strings.Join(unpriced, " ")
	for _, l := range lines {
		share := new(big.Rat).Quo(new(big.Rat).Mul(sum, l.percent), hundred)
		amount := new(big.Rat).Add(l.amount, s.rounded(share, s.minor()))
		r.lines = append(r.lines, fmt.Sprint(l.slug, " ", s.inMinor(amount), " ", l.mixed))
	}
	if s.tax != nil {
		r.tax = s.taxOf(low) + " " + s.taxOf(high)
	}
	return r
}

// allows reports whether a quantity is from min to max, in steps from min.
func (o choice) allows(count *big.Rat) bool {
	steps := new(big.Rat).Quo(new(big.Rat).Sub(count, o.min), o.step)
	return count.Cmp(o.min) >= 0 && count.Cmp(o.max) <= 0 && steps.IsInt()
}

// cost returns the price of a quantity, and whether its units have different prices.
func (o choice) cost(count *big.Rat) (cost *big.Rat, mixed bool) {
	cost = new(big.Rat)
	from := new(big.Rat)
	for i, t := range o.tiers {
		inside := t.upTo == nil || count.Cmp(t.upTo) <= 0
		if !o.graduated {
			if inside {
				return cost.Mul(count, t.price), false
			}
			continue
		}
		end := count
		if !inside {
			end = t.upTo
		}
		cost.Add(cost, new(big.Rat).Mul(new(big.Rat).Sub(end, from), t.price))
		if inside {
			return cost, i > 0
		}
		from = t.upTo
	}
	return cost, false
}

// minor returns the minor unit of the currency.
func (s *site) minor() *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s.places)), nil))
}

// rounded rounds an amount half up to a multiple of a step.
func (s *site) rounded(amount, step *big.Rat) *big.Rat {
	steps := new(big.Rat).Quo(amount, step)
	steps.Add(steps, big.NewRat(1, 2))
	whole := new(big.Int).Div(steps.Num(), steps.Denom()) // Euclidean division: half up below 0, too
	return new(big.Rat).Mul(new(big.Rat).SetInt(whole), step)
}

func (s *site) inMinor(amount *big.Rat) int64 {
	return new(big.Rat).Quo(amount, s.minor()).Num().Int64()
}

// taxOf returns the tax on an amount, as a number in units of the currency.
func (s *site) taxOf(amount *big.Rat) string {
	base := big.NewRat(100, 1)
	if s.taxIncluded {
		base.Add(base, s.tax)
	}
	tax := s.rounded(new(big.Rat).Quo(new(big.Rat).Mul(amount, s.tax), base), s.minor())
	number, _ := tax.Float64()
	return fmt.Sprint(number)
}
