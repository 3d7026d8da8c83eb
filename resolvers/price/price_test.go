package price_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/resolvers/price"
)

// site is a random configuration of the calculator.
type site struct {
	currency                 string
	places                   int
	spread, roundTo, minimum *big.Rat
	prices, percents         map[string]*big.Rat // by slug of a feature
}

// TestQuoteEqualsItsModel compares the ranges of random sites and choices with those of
// an independent model in fractions.
func TestQuoteEqualsItsModel(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		s := newSite(random)
		rules, problems := price.Read(s.documents(t), "en", func(string) bool { return true })
		if len(problems) > 0 {
			t.Fatalf("seed %d: %v", seed, problems)
		}
		for range 20 {
			var choices []price.Choice
			for _, i := range random.Perm(len(slugs))[:random.IntN(len(slugs))] {
				choices = append(choices, price.Choice{Field: "features", Slug: slugs[i]})
			}

			got, want := rules.Quote(choices), s.model(choices)
			sum := int64(0)
			for _, line := range got.Lines {
				sum += line.Amount
			}
			if got.Lines = nil; sum != got.Min || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %+v of %+v\ngot  %+v, lines of %d\nwant %+v", seed, choices, rules, got, sum, want)
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
	kind := random.IntN(3)
	s := &site{
		currency: []string{"JPY", "EUR", "KWD"}[kind],
		places:   []int{0, 2, 3}[kind],
		prices:   map[string]*big.Rat{},
		percents: map[string]*big.Rat{},
	}
	s.spread = decimalOf(random, 0, 200, 4)
	s.roundTo = decimalOf(random, 1, 1+random.Int64N(1000), s.places)
	s.minimum = decimalOf(random, 0, 1+random.Int64N(20000), s.places)
	for _, slug := range slugs {
		if kind := random.IntN(4); kind < 2 { // the last kind has no document
			s.prices[slug] = decimalOf(random, 0, 1+random.Int64N(30000), s.places)
		} else if kind == 2 {
			s.percents[slug] = decimalOf(random, -100, 250, 4)
		}
	}
	return s
}

// documents returns the CMS documents of the site.
func (s *site) documents(t *testing.T) []cms.Document {
	t.Helper()
	docs := []cms.Document{document(t, fmt.Sprintf(
		`{"_id":"quoteRules","_type":"quoteRules","currency":%q,"spreadPercent":%s,"roundTo":%s,"minimum":%s}`,
		s.currency, s.spread.FloatString(4), s.roundTo.FloatString(s.places), s.minimum.FloatString(s.places)))}
	for slug, amount := range s.prices {
		docs = append(docs, document(t, option(slug, "feature", slug, `,"price":`+amount.FloatString(s.places))))
	}
	for slug, percent := range s.percents {
		docs = append(docs, document(t, option(slug, "feature", slug, `,"percent":`+percent.FloatString(4))))
	}
	return docs
}

// model prices choices in fractions of units.
func (s *site) model(choices []price.Choice) (q price.Quote) {
	sum, factor, hundred := new(big.Rat), big.NewRat(1, 1), big.NewRat(100, 1)
	for _, c := range choices {
		amount, percent := s.prices[c.Slug], s.percents[c.Slug]
		switch {
		case amount != nil:
			sum.Add(sum, amount)
		case percent != nil:
			factor.Add(factor, new(big.Rat).Quo(percent, hundred))
		default:
			q.Unpriced = append(q.Unpriced, c.Slug)
		}
	}

	least := new(big.Rat).Mul(sum, factor)
	if least.Cmp(s.minimum) < 0 {
		least.Set(s.minimum)
	}
	most := new(big.Rat).Mul(least, new(big.Rat).Add(big.NewRat(1, 1), new(big.Rat).Quo(s.spread, hundred)))
	q.Min, q.Max = s.bound(least), s.bound(most)
	return q
}

// bound rounds an amount half up to a multiple of roundTo, in minor units.
func (s *site) bound(amount *big.Rat) int64 {
	steps := new(big.Rat).Quo(amount, s.roundTo)
	steps.Add(steps, big.NewRat(1, 2))
	whole := new(big.Int).Quo(steps.Num(), steps.Denom()) // no amount is below 0

	tens := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s.places)), nil)
	minor := new(big.Rat).Mul(new(big.Rat).SetInt(whole.Mul(whole, tens)), s.roundTo)
	return minor.Num().Int64()
}
