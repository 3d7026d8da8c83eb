package price_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/resolvers/price"
)

// site is a random calculator, as its editors write it.
type site struct {
	currency                 string
	places                   int
	spread, roundTo, minimum *big.Rat
	prices, percents         map[string]*big.Rat // by group and slug
	groups, slugs            []string
}

// TestQuoteEqualsItsModel compares the ranges and lines of random sites and choices with
// those of a model in fractions, which shares nothing with the program.
func TestQuoteEqualsItsModel(t *testing.T) {
	t.Parallel()
	const cases, choicesOfASite = 10_000, 20
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	var unpriced, raised, rounded int
	var s *site
	var rules *price.Rules
	for i := range cases {
		if i%choicesOfASite == 0 {
			var problems []error
			s = newSite(random)
			if rules, problems = price.Read(s.documents(t), "en", func(string) bool { return true }); len(problems) > 0 {
				t.Fatalf("seed %d, case %d: %v", seed, i, problems)
			}
		}
		choices := s.choices(random)
		got, want := rules.Quote(choices), s.model(choices)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d, case %d: %+v of %+v\ngot  %+v\nwant %+v", seed, i, choices, rules, got, want)
		}
		sum := int64(0)
		for _, line := range got.Lines {
			sum += line.Amount
			raised += count(line.Field == price.FieldMinimum)
			rounded += count(line.Field == price.FieldRounding)
		}
		if sum != got.Min {
			t.Fatalf("seed %d, case %d: the lines add up to %d, the lower bound is %d", seed, i, sum, got.Min)
		}
		unpriced += count(len(got.Unpriced) > 0)
	}
	if unpriced < cases/10 || raised < cases/10 || rounded < cases/10 {
		t.Errorf("only %d cases have unpriced choices, %d the minimum, %d a rounding", unpriced, raised, rounded)
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// decimalOf returns a random number from low with so many decimals at most.
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
		groups:   []string{"projectType", "feature", "complexity", "timeline"},
		slugs:    []string{"a", "b", "c", "d", "e", "f"},
	}
	s.spread = decimalOf(random, 0, 200, 4)
	s.roundTo = decimalOf(random, 1, 1+random.Int64N(1000), s.places)
	s.minimum = decimalOf(random, 0, 1+random.Int64N(20000), s.places)
	for _, group := range s.groups {
		for _, slug := range s.slugs {
			if random.IntN(4) == 0 {
				continue // it has no document
			}
			key := group + " " + slug
			if random.IntN(5) > 0 {
				s.prices[key] = decimalOf(random, 0, 1+random.Int64N(30000), s.places)
			}
			if s.prices[key] == nil || random.IntN(4) == 0 {
				s.percents[key] = decimalOf(random, -100, 250, 4)
			}
		}
	}
	return s
}

// documents returns the site's documents as the CMS has them.
func (s *site) documents(t *testing.T) []cms.Document {
	t.Helper()
	docs := []cms.Document{document(t, fmt.Sprintf(
		`{"_id":"quoteRules","_type":"quoteRules","currency":%q,"spreadPercent":%s,"roundTo":%s,"minimum":%s}`,
		s.currency, s.spread.FloatString(4), s.roundTo.FloatString(s.places), s.minimum.FloatString(s.places)))}
	for _, group := range s.groups {
		for _, slug := range s.slugs {
			text := fmt.Sprintf(`{"_id":"option-%s-%s","_type":"quoteOption","group":%q,"slug":{"current":%q}`, group, slug, group, slug)
			amount, percent := s.prices[group+" "+slug], s.percents[group+" "+slug]
			if amount != nil {
				text += `,"price":` + amount.FloatString(s.places)
			}
			if percent != nil {
				text += `,"percent":` + percent.FloatString(4)
			}
			if amount != nil || percent != nil {
				docs = append(docs, document(t, text+"}"))
			}
		}
	}
	return docs
}

func document(t *testing.T, text string) cms.Document {
	t.Helper()
	d, err := cms.Decode(json.RawMessage(text), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// choices returns some choices, doubles and unknown slugs among them.
func (s *site) choices(random *rand.Rand) []price.Choice {
	choices := []price.Choice{}
	for range random.IntN(8) {
		field := []string{"projectType", "features", "features", "complexity", "timeline"}[random.IntN(5)]
		slug := append(s.slugs, "unknown")[random.IntN(len(s.slugs)+1)]
		choices = append(choices, price.Choice{Field: field, Slug: slug})
	}
	return choices
}

// model prices choices in fractions of units.
func (s *site) model(choices []price.Choice) price.Quote {
	var q price.Quote
	sum, factor, hundred := new(big.Rat), big.NewRat(1, 1), big.NewRat(100, 1)
	amountOf := func(of map[string]*big.Rat, c price.Choice) *big.Rat {
		group := map[string]string{"features": "feature"}[c.Field]
		if group == "" {
			group = c.Field
		}
		return of[group+" "+c.Slug]
	}

	var counted []price.Choice
	for _, c := range choices {
		if slices.Contains(counted, c) {
			continue
		}
		amount, percent := amountOf(s.prices, c), amountOf(s.percents, c)
		if amount == nil && percent == nil {
			counted = append(counted, c)
			q.Unpriced = append(q.Unpriced, c.Slug)
			continue
		}
		counted, q.Priced = append(counted, c), true
		if amount != nil {
			sum.Add(sum, amount)
		}
		if percent != nil {
			factor.Add(factor, new(big.Rat).Quo(percent, hundred))
		}
	}

	// What discounts take beyond the whole sum is given back, to the last of them first.
	discounts := map[price.Choice]*big.Rat{}
	for _, c := range slices.Backward(counted) {
		percent := amountOf(s.percents, c)
		if factor.Sign() < 0 && percent != nil && percent.Sign() < 0 {
			back := new(big.Rat).Neg(factor)
			back.Mul(back, hundred)
			if off := new(big.Rat).Neg(percent); back.Cmp(off) > 0 {
				back = off
			}
			discounts[c] = new(big.Rat).Add(percent, back)
			factor.Add(factor, new(big.Rat).Quo(back, hundred))
		}
	}

	least := new(big.Rat).Mul(sum, factor)
	belowMinimum := least.Cmp(s.minimum) < 0
	if belowMinimum {
		least.Set(s.minimum)
	}
	most := new(big.Rat).Mul(least, new(big.Rat).Add(big.NewRat(1, 1), new(big.Rat).Quo(s.spread, hundred)))
	q.Min, q.Max = s.minor(s.step(least)), s.minor(s.step(most))

	q.Lines = []price.Line{}
	total := int64(0)
	for _, c := range counted {
		amount, percent := amountOf(s.prices, c), amountOf(s.percents, c)
		if amount == nil && percent == nil {
			continue
		}
		line := price.Line{Field: c.Field, Slug: c.Slug}
		if amount != nil {
			line.Amount = s.minor(amount)
		}
		if cut := discounts[c]; cut != nil {
			percent = cut
		}
		if percent != nil {
			line.Amount += s.minor(new(big.Rat).Quo(new(big.Rat).Mul(sum, percent), hundred))
		}
		q.Lines = append(q.Lines, line)
		total += line.Amount
	}
	if missing := s.minor(s.minimum) - total; belowMinimum && missing != 0 {
		q.Lines = append(q.Lines, price.Line{Field: "minimum", Amount: missing})
		total += missing
	}
	if total != q.Min {
		q.Lines = append(q.Lines, price.Line{Field: "rounding", Amount: q.Min - total})
	}
	return q
}

// step rounds an amount half up to a multiple of roundTo.
func (s *site) step(amount *big.Rat) *big.Rat {
	steps := halfUp(new(big.Rat).Quo(amount, s.roundTo))
	return new(big.Rat).Mul(new(big.Rat).SetInt(steps), s.roundTo)
}

// minor returns an amount in the smallest units of the currency, rounded half up.
func (s *site) minor(amount *big.Rat) int64 {
	tens := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s.places)), nil))
	return halfUp(tens.Mul(tens, amount)).Int64()
}

func halfUp(r *big.Rat) *big.Int {
	moved := new(big.Rat).Add(r, big.NewRat(1, 2))
	whole, left := new(big.Int).QuoRem(moved.Num(), moved.Denom(), new(big.Int))
	if left.Sign() < 0 {
		whole.Sub(whole, big.NewInt(1))
	}
	return whole
}
