// Package funnel resolves the field `funnel`: how far visitors get in the calculator, what
// they choose, and where they come from.
package funnel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/store"
	"siteapi/resolvers/price"
	"siteapi/schema"
	"siteapi/schema/request"
)

const (
	minSessions = 3          // sources with fewer sessions could identify a lead to viewers
	valuesShown = 50         // most frequent values shown per field, if the CMS has no options
	others      = "(others)" // all other values
)

// steps has the number of sessions that reached each step of the calculator, in the order
// of the schema's FunnelStepName. A session reaches a step if its state shows that step
// or a later one.
type steps [store.FunnelSteps]int

// report sums up the counts of the database.
type report struct {
	schema.Funnel
	steps   steps
	weeks   map[week]steps
	choices map[price.Choice]*schema.FunnelChoice
	options map[string]string // keys: slugs of the CMS's options
	sources map[origin]*source
}

// origin is a source and a campaign.
type origin struct{ source, campaign string }

// source has the counts of an origin, with amounts by currency.
type source struct {
	schema.FunnelSource
	sums, won map[string]float64
}

// week identifies a week by its Monday and a language, which is empty if unknown.
type week struct {
	start  time.Time
	locale string
}

// Resolver resolves the field `funnel`.
type Resolver struct {
	Store    *store.Store
	TimeZone *time.Location // the zone of the weeks

	// Options returns the slugs of the CMS's options with their labels. Optional: nil
	// without a CMS.
	Options func(ctx context.Context) map[string]string
}

// Funnel reports how far visitors get in the calculator, and their choices.
func (r *Resolver) Funnel(ctx context.Context, f store.FunnelFilter) (*schema.Funnel, error) {
	sum := &report{
		weeks:   map[week]steps{},
		choices: map[price.Choice]*schema.FunnelChoice{},
		sources: map[origin]*source{},
	}
	if r.Options != nil {
		sum.options = r.Options(ctx)
	}

	f.TimeZone = r.TimeZone
	leads, err := r.Store.FunnelLeads(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, c := range leads {
		sum.addLeads(c)
	}
	sessions, err := r.Store.FunnelSessions(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, c := range sessions {
		sum.addSessions(c)
	}

	sum.Steps = sum.steps.list()
	sum.listWeeks(r.TimeZone)
	sum.listChoices()
	minimum := 0
	if !request.CallerFrom(ctx).Operator.Role.Includes(schema.RoleSales) {
		minimum = minSessions
	}
	sum.listSources(minimum)
	sum.listRows(f, r.TimeZone)
	return &sum.Funnel, nil
}

func (r *report) addLeads(c store.LeadCount) {
	if c.InReview {
		r.InReview += c.Leads
		return
	}
	r.Leads += c.Leads
	r.Untracked += c.Untracked

	from := r.source(c.Source, c.Campaign)
	from.Leads += c.Leads
	from.sums[c.Currency] += c.Amount
	if c.WonCurrency != "" {
		from.won[c.WonCurrency] += c.WonAmount
	}
}

func (r *report) addSessions(c store.SessionCount) {
	reached := r.weeks[week{c.Week, c.Locale}]
	for i := range c.Step + 1 {
		r.steps[i] += c.Sessions
		reached[i] += c.Sessions
	}
	r.weeks[week{c.Week, c.Locale}] = reached

	from := r.source(c.Source, c.Campaign)
	from.Sessions += c.Sessions
	if c.Step >= store.Estimated {
		from.Estimates += c.Sessions
	}

	for _, chosen := range price.Choices(c.Selections) {
		r.choose(chosen, c)
	}
}

// choose counts a choice. Clients may send any: if the CMS has options, other choices of a
// field count together.
func (r *report) choose(chosen price.Choice, c store.SessionCount) {
	if _, option := r.options[chosen.Slug]; !option && len(r.options) > 0 {
		chosen.Slug = others
	}
	if r.choices[chosen] == nil {
		r.choices[chosen] = &schema.FunnelChoice{Field: chosen.Field, Value: chosen.Slug}
	}

	r.choices[chosen].Count += c.Sessions
	if c.Step >= store.Submitted {
		r.choices[chosen].Submitted += c.Sessions
	}
}

// byCount orders choices, the most frequent first.
func byCount(a, b *schema.FunnelChoice) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
}

// source returns the counts of an origin.
func (r *report) source(name, campaign string) *source {
	key := origin{name, campaign}
	if r.sources[key] == nil {
		r.sources[key] = newSource(key)
	}
	return r.sources[key]
}

func newSource(key origin) *source {
	return &source{
		FunnelSource: schema.FunnelSource{Source: key.source, Campaign: key.campaign},
		sums:         map[string]float64{},
		won:          map[string]float64{},
	}
}

// add adds the counts of another origin.
func (s *source) add(other *source) {
	s.Sessions += other.Sessions
	s.Estimates += other.Estimates
	s.Leads += other.Leads
	for currency, amount := range other.sums {
		s.sums[currency] += amount
	}
	for currency, amount := range other.won {
		s.won[currency] += amount
	}
}

// listWeeks lists the oldest weeks first, and the languages of a week in alphabetical
// order.
func (r *report) listWeeks(zone *time.Location) {
	r.Weeks = []*schema.FunnelWeek{}
	oldest := func(a, b week) int {
		return cmp.Or(a.start.Compare(b.start), strings.Compare(a.locale, b.locale))
	}

	for _, key := range slices.SortedFunc(maps.Keys(r.weeks), oldest) {
		year, number := key.start.ISOWeek()
		r.Weeks = append(r.Weeks, &schema.FunnelWeek{
			Week:   fmt.Sprintf("%d-W%02d", year, number),
			Start:  schema.StartOfDay(key.start, zone).UTC(),
			Locale: schema.Optional(schema.Locale(key.locale)),
			Steps:  r.weeks[key].list(),
		})
	}
}

// listChoices lists the options, or without options the most frequent values, of each
// field, and then the sum of all others.
func (r *report) listChoices() {
	r.Choices = []*schema.FunnelChoice{}
	sorted := slices.SortedFunc(maps.Values(r.choices), byCount)
	for _, field := range []string{"projectType", "features", "complexity", "timeline"} {
		shown := 0
		rest := &schema.FunnelChoice{Field: field, Value: others}
		for _, c := range sorted {
			switch {
			case c.Field != field:
			case c.Value != others && (shown < valuesShown || len(r.options) > 0):
				r.Choices = append(r.Choices, c)
				shown++
			default:
				rest.Count += c.Count
				rest.Submitted += c.Submitted
			}
		}

		if rest.Count > 0 {
			r.Choices = append(r.Choices, rest)
		}
	}
}

// listSources lists the sources that have enough sessions, those with the most leads first,
// and then the sum of all others.
func (r *report) listSources(minimum int) {
	r.Sources = []*schema.FunnelSource{}
	successful := func(a, b *source) int {
		return cmp.Or(
			cmp.Compare(b.Leads, a.Leads),
			cmp.Compare(b.Sessions, a.Sessions),
			strings.Compare(a.Source, b.Source),
			strings.Compare(a.Campaign, b.Campaign),
		)
	}

	var list []*source
	rest := newSource(origin{source: others})
	for _, s := range slices.SortedFunc(maps.Values(r.sources), successful) {
		if s.Sessions >= minimum && len(list) < valuesShown {
			list = append(list, s)
			continue
		}
		rest.add(s)
	}
	if rest.Sessions+rest.Leads > 0 {
		list = append(list, rest)
	}

	for _, s := range list {
		s.Sums, s.Won = price.Sums(s.sums), price.Sums(s.won)
		r.Sources = append(r.Sources, &s.FunnelSource)
	}
}

// list returns the steps with their names and conversions.
func (reached steps) list() []*schema.FunnelStep {
	list := make([]*schema.FunnelStep, len(reached))
	for i, name := range schema.AllFunnelStepName {
		list[i] = &schema.FunnelStep{Name: name, Count: reached[i]}
		if i > 0 && reached[i-1] > 0 {
			list[i].Conversion = new(float64(reached[i]) / float64(reached[i-1]))
		}
	}
	return list
}
