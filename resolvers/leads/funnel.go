package leads

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

const (
	choicesCounted = 10_000 // values that are counted per field, since clients may send any
	choicesShown   = 50     // values that are shown per field
	others         = "(others)"
)

// FunnelFilter narrows a funnel. Zero fields don't narrow.
type FunnelFilter struct {
	Since, Until     time.Time
	Locale           *schema.Locale
	Source, Campaign *string            // what the touch says
	Touch            schema.FunnelTouch // empty: LAST
}

// within reports whether a time is in the period.
func (f *FunnelFilter) within(at time.Time) bool {
	return !at.Before(f.Since) && (f.Until.IsZero() || at.Before(f.Until))
}

// touch returns the one of two touches that counts.
func (f *FunnelFilter) touch(first, last lead.Attribution) lead.Attribution {
	if f.Touch == schema.FunnelTouchFirst {
		return first
	}
	return last
}

// from reports whether a touch has the source and the campaign.
func (f *FunnelFilter) from(touch lead.Attribution) bool {
	return schema.ValueOr(f.Source, touch.Source) == touch.Source &&
		schema.ValueOr(f.Campaign, touch.Campaign) == touch.Campaign
}

// report is a funnel that is being counted.
type report struct {
	*schema.Funnel
	filter  FunnelFilter
	leads   map[string]outcome // key: session id
	reached [5]int
	weeks   map[week]*[5]int
	choices map[string]map[string]*schema.FunnelChoice // keys: field, value
	sources map[origin]*funnelSource
}

// origin is a source and a campaign.
type origin struct{ source, campaign string }

// funnelSource is a source that is being counted.
type funnelSource struct {
	sessions, estimates, submissions int

	sums map[string]float64 // key: currency
}

// lead sums up the leads of one session.
type outcome struct {
	locale schema.Locale
	within int // leads that the report counts
}

// week identifies a week by its Monday and the locale of the leads.
type week struct {
	start  time.Time
	locale schema.Locale
}

// Funnel reads all leads and sessions once.
func (s *Service) Funnel(ctx context.Context, filter FunnelFilter) (*schema.Funnel, error) {
	r := &report{
		Funnel: &schema.Funnel{
			Weeks:   []*schema.FunnelWeek{},
			Choices: []*schema.FunnelChoice{},
			Sources: []*schema.FunnelSource{},
		},
		filter:  filter,
		leads:   map[string]outcome{},
		weeks:   map[week]*[5]int{},
		choices: map[string]map[string]*schema.FunnelChoice{},
		sources: map[origin]*funnelSource{},
	}

	f := store.Filter{Locale: string(schema.ValueOr(filter.Locale, ""))}
	for l, err := range s.Archive.Leads(ctx, f) {
		if err != nil {
			return nil, fmt.Errorf("reading the submissions: %w", err)
		}
		r.addLead(l)
	}

	// A lead counts as untracked until its session is read.
	r.Untracked = r.Submissions
	for session, err := range s.Archive.Sessions(ctx) {
		if err != nil {
			return nil, fmt.Errorf("reading the sessions: %w", err)
		}
		r.addSession(session)
	}

	r.finish()
	return r.Funnel, nil
}

func (r *report) addLead(s lead.Lead) {
	touch := r.filter.touch(s.FirstAttribution, s.Attribution)
	counts := r.filter.within(s.SubmittedAt) && r.filter.from(touch)
	if s.InReview || s.Rejected {
		if s.InReview && counts {
			r.InReview++
		}
		return
	}

	l := r.leads[s.SessionID]
	l.locale = schema.Locale(s.Locale)
	if counts {
		l.within++
		r.Submissions++

		source := r.source(touch)
		source.submissions++
		source.sums[s.Estimate.Currency] += s.Estimate.Min
	}
	r.leads[s.SessionID] = l
}

func (r *report) addSession(s lead.Session) {
	l, converted := r.leads[s.ID]
	r.Untracked -= l.within
	touch := r.filter.touch(s.FirstTouch, s.LastTouch)
	if !r.filter.within(s.LastSeen) || r.filter.Locale != nil && !converted || !r.filter.from(touch) {
		return
	}

	// A week begins on Monday.
	seen := s.LastSeen.UTC().Truncate(24 * time.Hour)
	key := week{seen.AddDate(0, 0, -(int(seen.Weekday())+6)%7), l.locale}
	if r.weeks[key] == nil {
		r.weeks[key] = new([5]int)
	}

	last := lastStep(s, converted)
	for i := range last + 1 {
		r.reached[i]++
		r.weeks[key][i]++
	}

	source := r.source(touch)
	source.sessions++
	if last >= slices.Index(schema.AllFunnelStepName, schema.FunnelStepNameEstimated) {
		source.estimates++
	}

	r.choose("projectType", converted, s.Selections.ProjectType)
	r.choose("features", converted, s.Selections.Features...)
	r.choose("complexity", converted, s.Selections.Complexity)
	r.choose("timeline", converted, s.Selections.Timeline)
}

// lastStep returns the index of the last step that a session shows.
func lastStep(s lead.Session, converted bool) int {
	shown := []bool{
		true,
		s.Selections.ProjectType != "",
		s.Estimate.Min != nil || s.Estimate.Max != nil,
		s.Hints != (lead.Hints{}),
		converted,
	}

	last := len(shown) - 1
	for !shown[last] {
		last--
	}
	return last
}

// choose counts the values of a field. Values beyond choicesCounted are counted together.
func (r *report) choose(field string, converted bool, values ...string) {
	counts := r.choices[field]
	if counts == nil {
		counts = map[string]*schema.FunnelChoice{}
		r.choices[field] = counts
	}

	for _, value := range values {
		if value == "" {
			continue
		}

		if counts[value] == nil && len(counts) >= choicesCounted {
			value = others
		}
		if counts[value] == nil {
			counts[value] = &schema.FunnelChoice{Field: field, Value: value}
		}

		counts[value].Count++
		if converted {
			counts[value].Submitted++
		}
	}
}

// source returns the counts of a touch. Sources beyond choicesCounted are counted together.
func (r *report) source(touch lead.Attribution) *funnelSource {
	key := origin{touch.Source, touch.Campaign}
	if r.sources[key] == nil && len(r.sources) >= choicesCounted {
		key = origin{others, ""}
	}
	if r.sources[key] == nil {
		r.sources[key] = &funnelSource{sums: map[string]float64{}}
	}
	return r.sources[key]
}

// finishSources lists the sources with most submissions.
func (r *report) finishSources() {
	keys := slices.SortedFunc(maps.Keys(r.sources), func(a, b origin) int {
		return cmp.Or(
			cmp.Compare(r.sources[b].submissions, r.sources[a].submissions),
			cmp.Compare(r.sources[b].sessions, r.sources[a].sessions),
			strings.Compare(a.source, b.source),
			strings.Compare(a.campaign, b.campaign),
		)
	})

	for _, key := range keys[:min(len(keys), choicesShown)] {
		counted := r.sources[key]
		listed := &schema.FunnelSource{
			Source:      key.source,
			Campaign:    key.campaign,
			Sessions:    counted.sessions,
			Estimates:   counted.estimates,
			Submissions: counted.submissions,
			Sums:        []*schema.FunnelSum{},
		}

		for _, currency := range slices.Sorted(maps.Keys(counted.sums)) {
			listed.Sums = append(listed.Sums, &schema.FunnelSum{
				Currency: currency,
				Amount:   math.Round(counted.sums[currency]*100) / 100, // adding up leaves traces
			})
		}
		r.Sources = append(r.Sources, listed)
	}
}

func (r *report) finish() {
	r.finishSources()
	r.Steps = steps(r.reached)

	weeks := slices.SortedFunc(maps.Keys(r.weeks), func(a, b week) int {
		return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.locale, b.locale))
	})
	for _, key := range weeks {
		year, number := key.start.ISOWeek()
		w := &schema.FunnelWeek{
			Week:  fmt.Sprintf("%d-W%02d", year, number),
			Start: key.start,
			Steps: steps(*r.weeks[key]),
		}

		if key.locale != "" {
			w.Locale = &key.locale
		}
		r.Weeks = append(r.Weeks, w)
	}

	for _, field := range []string{"projectType", "features", "complexity", "timeline"} {
		list := slices.SortedFunc(maps.Values(r.choices[field]), func(a, b *schema.FunnelChoice) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
		})
		r.Choices = append(r.Choices, list[:min(len(list), choicesShown)]...)
	}
}

// steps names the numbers of sessions that reached each step.
func steps(reached [5]int) []*schema.FunnelStep {
	list := make([]*schema.FunnelStep, len(reached))
	for i, name := range schema.AllFunnelStepName {
		list[i] = &schema.FunnelStep{Name: name, Count: reached[i]}
		if i > 0 && reached[i-1] > 0 {
			conversion := float64(reached[i]) / float64(reached[i-1])
			list[i].Conversion = &conversion
		}
	}
	return list
}
