package leads

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/store"
)

const (
	choicesCounted = 10_000 // values that are counted per field, since clients may send any
	choicesShown   = 50     // values that are shown per field, and all options of the CMS
	others         = "(others)"
)

// Steps are the numbers of sessions that reached each step of the calculator, in the order
// of the schema's FunnelStepName. A session reaches a step if its state shows that step or a
// later one.
type Steps [store.FunnelSteps]int

// Funnel is how far visitors get in the calculator, and what they choose.
type Funnel struct {
	Steps   Steps
	Weeks   []FunnelWeek
	Choices []FunnelChoice
	Sources []FunnelSource

	Submissions int // leads without those in review or rejected
	Untracked   int // number of them whose session is not among the tracked ones
	InReview    int
}

// FunnelWeek counts the sessions that were last seen in one week, in one language.
type FunnelWeek struct {
	Start  time.Time // the Monday, 00:00 UTC
	Locale string    // language of the leads; empty: none, or not known
	Steps  Steps
}

// FunnelChoice is how often a value was chosen.
type FunnelChoice struct {
	Field, Value     string
	Count, Submitted int // sessions, and those of them that submitted
}

// FunnelSource is what came of a source and a campaign.
type FunnelSource struct {
	Source, Campaign string

	Sessions    int
	Estimates   int // sessions that saw an estimate, or went further
	Submissions int
	Sums        map[string]float64 // lower ends of the leads' ranges by currency
	Won         map[string]float64 // amounts of the leads that were won, by currency
}

// report adds up what the database has counted.
type report struct {
	Funnel
	weeks   map[week]*Steps
	choices map[string]map[string]*FunnelChoice // keys: field, value
	options map[string]string                   // keys: slugs of the CMS's options, which are never merged
	sources map[origin]*FunnelSource
}

// origin is a source and a campaign.
type origin struct{ source, campaign string }

// week identifies a week by its Monday and the locale of the leads.
type week struct {
	start  time.Time
	locale string
}

// Funnel reports how far visitors get in the calculator, and what they choose.
func (s *Service) Funnel(ctx context.Context, f store.FunnelFilter) (*Funnel, error) {
	r := &report{
		weeks:   map[week]*Steps{},
		choices: map[string]map[string]*FunnelChoice{},
		sources: map[origin]*FunnelSource{},
	}
	if s.Options != nil {
		r.options = s.Options(ctx)
	}

	if err := s.Archive.FunnelLeads(ctx, f, r.addLeads); err != nil {
		return nil, err
	}
	if err := s.Archive.FunnelSessions(ctx, f, r.addSessions); err != nil {
		return nil, err
	}

	r.finish()
	return &r.Funnel, nil
}

func (r *report) addLeads(c store.LeadCount) {
	if c.InReview {
		r.InReview += c.Leads
		return
	}
	r.Submissions += c.Leads
	r.Untracked += c.Untracked

	source := r.source(c.Source, c.Campaign)
	source.Submissions += c.Leads
	source.Sums[c.Currency] += c.Amount
	if c.WonCurrency != "" {
		source.Won[c.WonCurrency] += c.WonAmount
	}
}

func (r *report) addSessions(c store.SessionCount) {
	key := week{c.Week, c.Locale}
	if r.weeks[key] == nil {
		r.weeks[key] = new(Steps)
	}
	for i := range c.Step + 1 {
		r.Steps[i] += c.Sessions
		r.weeks[key][i] += c.Sessions
	}

	source := r.source(c.Source, c.Campaign)
	source.Sessions += c.Sessions
	if c.Step >= store.Estimated {
		source.Estimates += c.Sessions
	}

	r.choose("projectType", c, c.Selections.ProjectType)
	r.choose("features", c, c.Selections.Features...)
	r.choose("complexity", c, c.Selections.Complexity)
	r.choose("timeline", c, c.Selections.Timeline)
}

// choose counts the values of a field. Where they are too many the rarest are merged.
func (r *report) choose(field string, c store.SessionCount, values ...string) {
	counts := r.choices[field]
	if counts == nil {
		counts = map[string]*FunnelChoice{}
		r.choices[field] = counts
	}

	for _, value := range values {
		if value == "" {
			continue
		}

		if counts[value] == nil && len(counts) >= 2*choicesCounted {
			r.merge(counts)
		}
		if counts[value] == nil {
			counts[value] = &FunnelChoice{Field: field, Value: value}
		}

		counts[value].Count += c.Sessions
		if c.Step >= store.Submitted {
			counts[value].Submitted += c.Sessions
		}
	}
}

// merge counts the rarest values of a field together, until choicesCounted of those that
// are no options of the CMS are left.
func (r *report) merge(counts map[string]*FunnelChoice) {
	rest := &FunnelChoice{Value: others}
	var list []*FunnelChoice
	for value, c := range counts {
		if rest.Field = c.Field; value == others {
			rest = c
		} else if _, option := r.options[value]; !option {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *FunnelChoice) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})

	counts[others] = rest
	for _, c := range list[min(len(list), choicesCounted):] {
		rest.Count += c.Count
		rest.Submitted += c.Submitted
		delete(counts, c.Value)
	}
}

// source returns the counts of a touch. Sources beyond choicesCounted are counted together.
func (r *report) source(source, campaign string) *FunnelSource {
	key := origin{source, campaign}
	if r.sources[key] == nil && len(r.sources) >= choicesCounted {
		key = origin{others, ""}
	}
	if r.sources[key] == nil {
		r.sources[key] = &FunnelSource{
			Source:   key.source,
			Campaign: key.campaign,
			Sums:     map[string]float64{},
			Won:      map[string]float64{},
		}
	}
	return r.sources[key]
}

// finish lists what was counted in the order of the report.
func (r *report) finish() {
	for key, steps := range r.weeks {
		r.Weeks = append(r.Weeks, FunnelWeek{Start: key.start, Locale: key.locale, Steps: *steps})
	}
	slices.SortFunc(r.Weeks, func(a, b FunnelWeek) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Locale, b.Locale))
	})

	for _, field := range []string{"projectType", "features", "complexity", "timeline"} {
		list := slices.SortedFunc(maps.Values(r.choices[field]), func(a, b *FunnelChoice) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
		})
		for i, choice := range list {
			if _, option := r.options[choice.Value]; option || i < choicesShown {
				r.Choices = append(r.Choices, *choice)
			}
		}
	}

	sources := slices.SortedFunc(maps.Values(r.sources), func(a, b *FunnelSource) int {
		return cmp.Or(
			cmp.Compare(b.Submissions, a.Submissions),
			cmp.Compare(b.Sessions, a.Sessions),
			strings.Compare(a.Source, b.Source),
			strings.Compare(a.Campaign, b.Campaign),
		)
	})
	for _, source := range sources[:min(len(sources), choicesShown)] {
		r.Sources = append(r.Sources, *source)
	}
}
