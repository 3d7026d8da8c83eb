package leads

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
)

// report is a funnel that is being counted.
type report struct {
	*schema.Funnel
	locale  *schema.Locale
	within  func(time.Time) bool
	leads   map[string]outcome // key: session id
	reached [5]int
	weeks   map[week]*[5]int
	choices map[string]map[string]*schema.FunnelChoice // keys: field, value
}

// lead sums up the leads of one session.
type outcome struct {
	locale schema.Locale
	within int // leads submitted within the period of the report
}

// week identifies a week by its Monday and the locale of the leads.
type week struct {
	start  time.Time
	locale schema.Locale
}

// Funnel reads all leads and sessions once. Zero times do not limit the period.
func (s *Service) Funnel(
	ctx context.Context, since, until time.Time, locale *schema.Locale,
) (*schema.Funnel, error) {
	r := &report{
		Funnel:  &schema.Funnel{Weeks: []*schema.FunnelWeek{}, Choices: []*schema.FunnelChoice{}},
		locale:  locale,
		within:  func(at time.Time) bool { return !at.Before(since) && (until.IsZero() || at.Before(until)) },
		leads:   map[string]outcome{},
		weeks:   map[week]*[5]int{},
		choices: map[string]map[string]*schema.FunnelChoice{},
	}

	f := store.Filter{}
	if locale != nil {
		f.Locale = string(*locale)
	}

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
	inTime := r.within(s.SubmittedAt)
	if s.InReview || s.Rejected {
		if s.InReview && inTime {
			r.InReview++
		}
		return
	}

	l := r.leads[s.SessionID]
	l.locale = schema.Locale(s.Locale)
	if inTime {
		l.within++
		r.Submissions++
	}
	r.leads[s.SessionID] = l
}

func (r *report) addSession(s lead.Session) {
	l, converted := r.leads[s.ID]
	r.Untracked -= l.within
	if !r.within(s.LastSeen) || r.locale != nil && !converted {
		return
	}

	// A week begins on Monday.
	seen := s.LastSeen.UTC().Truncate(24 * time.Hour)
	key := week{seen.AddDate(0, 0, -(int(seen.Weekday())+6)%7), l.locale}
	if r.weeks[key] == nil {
		r.weeks[key] = new([5]int)
	}

	for i := range lastStep(s, converted) + 1 {
		r.reached[i]++
		r.weeks[key][i]++
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
			value = "(others)"
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

func (r *report) finish() {
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
