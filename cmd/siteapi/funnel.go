package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// What bounds the memory of a report, however much there is to read: sessions and
// submissions are matched by a hash of 8 bytes, a million submissions at a time, and of
// slugs, which strangers may make up, no more than so many are counted.
const (
	funnelPart    = 1 << 20
	funnelChoices = 10_000
)

// funnelSteps are the steps in the order they are taken.
func funnelSteps() []string {
	return []string{"opened", "project type chosen", "features chosen", "estimate seen", "contact begun", "submitted"}
}

// funnelReport is how far sessions got. Shares are between 0 and 1.
type funnelReport struct {
	Since        time.Time    `json:"since,omitzero"`
	Until        time.Time    `json:"until,omitzero"`
	Sessions     int          `json:"sessions"` // tracked, last seen in that time
	Steps        []funnelStep `json:"steps"`
	Conversion   float64      `json:"conversion"`  // sessions that submitted, of all
	Submissions  int          `json:"submissions"` // submitted in that time
	Held         int          `json:"held"`        // beside them: those held for review, which count for nothing
	Untracked    int          `json:"untracked"`   // of them, those whose session is not among the tracked ones
	ProjectTypes []choice     `json:"projectTypes"`
	Features     []choice     `json:"features"`
}

// funnelStep is one step with what is left of the sessions.
type funnelStep struct {
	Step     string  `json:"step"`
	Sessions int     `json:"sessions"` // that reached it
	Share    float64 `json:"share"`    // of all
	DropOff  float64 `json:"dropOff"`  // of those that reached the step before, how many did not reach this one
}

// choice is how often something was chosen.
type choice struct {
	Slug       string  `json:"slug"`
	Sessions   int     `json:"sessions"`
	Submitted  int     `json:"submitted"` // of those sessions
	Conversion float64 `json:"conversion"`
}

// otherChoices stands for those beyond the bound.
const otherChoices = "(others)"

// funnel computes a report.
type funnel struct {
	archive  store.Archive
	since    time.Time
	until    time.Time
	partSize int // submissions matched at a time
	choices  int // different slugs counted

	seed     maphash.Seed
	reached  []int // sessions by the last step that they reached
	projects tally
	features tally
	result   funnelReport
}

// report reads everything once for every partSize submissions there are.
func (f *funnel) report(ctx context.Context, top int) (funnelReport, error) {
	f.seed = maphash.MakeSeed()
	f.reached = make([]int, len(funnelSteps()))
	f.projects, f.features = tally{most: f.choices, counts: map[string]*choice{}}, tally{most: f.choices, counts: map[string]*choice{}}
	f.result = funnelReport{Since: f.since, Until: f.until, Steps: []funnelStep{}}
	n, err := f.archive.CountSubmissions(ctx)
	if err != nil {
		return funnelReport{}, err
	}
	parts := uint64(n)/uint64(f.partSize) + 1
	for part := range parts {
		if err := f.read(ctx, part, parts); err != nil {
			return funnelReport{}, err
		}
	}
	return f.sum(top), nil
}

// read handles the sessions and submissions whose hash falls into one part.
func (f *funnel) read(ctx context.Context, part, parts uint64) error {
	submitted := map[uint64]int32{} // submissions in the time of the report, by session; 0: at another time
	for s, err := range f.archive.Submissions(ctx, store.Filter{}) {
		if err != nil {
			return fmt.Errorf("reading the submissions: %w", err)
		}
		h := maphash.String(f.seed, s.SessionID)
		if h%parts != part {
			continue
		}
		n, intime := submitted[h], f.within(s.SubmittedAt)
		if s.InReview {
			if intime {
				f.result.Held++
			}
			continue
		}
		if intime {
			f.result.Submissions++
			f.result.Untracked++ // until its session is seen
			n++
		}
		submitted[h] = n
	}
	for s, err := range f.archive.Sessions(ctx, store.SessionFilter{}) {
		if err != nil {
			return fmt.Errorf("reading the sessions: %w", err)
		}
		h := maphash.String(f.seed, s.ID)
		if h%parts != part {
			continue
		}
		n, converted := submitted[h]
		if n > 0 {
			f.result.Untracked -= int(n)
			submitted[h] = 0
		}
		if f.within(s.LastSeen) {
			f.count(&s, converted)
		}
	}
	return nil
}

func (f *funnel) within(at time.Time) bool {
	return (f.since.IsZero() || !at.Before(f.since)) && (f.until.IsZero() || at.Before(f.until))
}

// count adds one session.
func (f *funnel) count(s *quote.Session, converted bool) {
	f.result.Sessions++
	f.reached[lastStep(s, converted)]++
	if slug := s.Selections.ProjectType; slug != "" {
		f.projects.add(slug, converted)
	}
	for _, slug := range s.Selections.Features {
		f.features.add(slug, converted)
	}
}

// lastStep returns the index of the last step that a session shows.
func lastStep(s *quote.Session, converted bool) int {
	shown := [...]bool{ // in the order of funnelSteps
		true, s.Selections.ProjectType != "", len(s.Selections.Features) > 0,
		s.Estimate.Min != nil || s.Estimate.Max != nil, s.Hints != (quote.Hints{}), converted,
	}
	last := len(shown) - 1
	for !shown[last] {
		last--
	}
	return last
}

// sum turns the counts into a report.
func (f *funnel) sum(top int) funnelReport {
	r := f.result
	left, before := r.Sessions, r.Sessions
	for i, name := range funnelSteps() {
		r.Steps = append(r.Steps, funnelStep{
			Step: name, Sessions: left, Share: share(left, r.Sessions), DropOff: share(before-left, before),
		})
		before = left
		left -= f.reached[i]
	}
	r.Conversion = r.Steps[len(r.Steps)-1].Share
	r.ProjectTypes, r.Features = f.projects.top(top), f.features.top(top)
	return r
}

// share is a part of a whole, to four digits; of nothing it is none.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return math.Round(10_000*float64(part)/float64(whole)) / 10_000
}

// tally counts choices by slug.
type tally struct {
	most   int
	counts map[string]*choice
}

func (t *tally) add(slug string, converted bool) {
	c := t.counts[slug]
	if c == nil {
		if len(t.counts) >= t.most {
			slug = otherChoices
		}
		if c = t.counts[slug]; c == nil {
			c = &choice{Slug: slug}
			t.counts[slug] = c
		}
	}
	c.Sessions++
	if converted {
		c.Submitted++
	}
}

// top returns the most frequent choices, by number and then by name.
func (t *tally) top(n int) []choice {
	list := make([]choice, 0, len(t.counts))
	for _, c := range t.counts {
		c.Conversion = share(c.Submitted, c.Sessions)
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.Sessions, a.Sessions), strings.Compare(a.Slug, b.Slug))
	})
	return list[:min(n, len(list))]
}
