package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// choicesMost is how many different slugs are counted: strangers may make them up.
const choicesMost = 10_000

// funnel is `siteapi funnel`.
func (d Deps) funnel() *cli.Command {
	return &cli.Command{
		Name: "funnel", Usage: "report how far visitors get in the calculator, and what they choose",
		Description: "Counts sessions by the last tracked state: what a visitor chose and took back is not seen. A session counts for a\n" +
			"step if its state shows that step or a later one. Sessions are forgotten after TRACK_RETENTION.\n\n" +
			"   siteapi funnel --since 30d\n   siteapi funnel --since 2026-01-01 --until 2026-02-01 --json",
		Flags: []cli.Flag{
			sinceFlag("sessions last seen"), untilFlag("sessions last seen"), jsonFlag(),
			&cli.IntFlag{Name: "top", Usage: "how many project types and features to name", Value: 10},
		},
		Action: d.databaseAction(printFunnel),
	}
}

// funnelReport is how far sessions got. Shares are between 0 and 1.
type funnelReport struct {
	Since        time.Time    `json:"since,omitzero"`
	Until        time.Time    `json:"until,omitzero"`
	Sessions     int          `json:"sessions"` // tracked, last seen in that time
	Steps        []funnelStep `json:"steps"`
	Conversion   float64      `json:"conversion"`  // sessions that submitted, of all
	Submissions  int          `json:"submissions"` // submitted in that time, those in review not counted
	InReview     int          `json:"inReview"`
	Untracked    int          `json:"untracked"` // submissions whose session is not among the tracked ones
	ProjectTypes []choice     `json:"projectTypes"`
	Features     []choice     `json:"features"`
}

// funnelStep is one step of the calculator.
type funnelStep struct {
	Step     string  `json:"step"`
	Sessions int     `json:"sessions"` // that reached it
	Share    float64 `json:"share"`    // of all
	DropOff  float64 `json:"dropOff"`  // of those at the step before, how many did not reach this one
}

// choice is how often something was chosen.
type choice struct {
	Slug       string  `json:"slug"`
	Sessions   int     `json:"sessions"`
	Submitted  int     `json:"submitted"` // of those sessions
	Conversion float64 `json:"conversion"`
}

// reportFunnel reads all submissions and sessions once.
func reportFunnel(ctx context.Context, archive store.Archive, since, until time.Time, top int) (funnelReport, error) {
	r := funnelReport{Since: since, Until: until}
	within := func(at time.Time) bool {
		return !at.Before(since) && (until.IsZero() || at.Before(until))
	}
	submitted := map[string]int{} // submissions in the time of the report, by session; 0: at another time
	for s, err := range archive.Submissions(ctx, store.Filter{}) {
		switch {
		case err != nil:
			return r, fmt.Errorf("reading the submissions: %w", err)
		case s.InReview && within(s.SubmittedAt):
			r.InReview++
		case s.InReview:
		case within(s.SubmittedAt):
			r.Submissions++
			submitted[s.SessionID]++
		default:
			submitted[s.SessionID] += 0
		}
	}
	r.Untracked = r.Submissions // until their sessions are seen
	steps := []string{"opened", "project type chosen", "features chosen", "estimate seen", "contact begun", "submitted"}
	reached := make([]int, len(steps))
	projects, features := tally{}, tally{}
	for s, err := range archive.Sessions(ctx) {
		if err != nil {
			return r, fmt.Errorf("reading the sessions: %w", err)
		}
		n, converted := submitted[s.ID]
		r.Untracked -= n
		if !within(s.LastSeen) {
			continue
		}
		r.Sessions++
		for i := range lastStep(s, converted) + 1 {
			reached[i]++
		}
		if s.Selections.ProjectType != "" {
			projects.add(s.Selections.ProjectType, converted)
		}
		for _, slug := range s.Selections.Features {
			features.add(slug, converted)
		}
	}
	before := r.Sessions
	for i, step := range steps {
		r.Steps = append(r.Steps, funnelStep{step, reached[i], share(reached[i], r.Sessions), share(before-reached[i], before)})
		before = reached[i]
	}
	r.Conversion = share(before, r.Sessions)
	r.ProjectTypes, r.Features = projects.top(top), features.top(top)
	return r, nil
}

// lastStep returns the index of the last step that a session shows.
func lastStep(s quote.Session, converted bool) int {
	shown := []bool{
		true, s.Selections.ProjectType != "", len(s.Selections.Features) > 0,
		s.Estimate.Min != nil || s.Estimate.Max != nil, s.Hints != (quote.Hints{}), converted,
	}
	last := len(shown) - 1
	for !shown[last] {
		last--
	}
	return last
}

// share is a part of a whole, to four digits.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return math.Round(10_000*float64(part)/float64(whole)) / 10_000
}

// tally counts choices by slug.
type tally map[string]*choice

func (t tally) add(slug string, converted bool) {
	if t[slug] == nil && len(t) >= choicesMost {
		slug = "(others)"
	}
	if t[slug] == nil {
		t[slug] = &choice{Slug: slug}
	}
	t[slug].Sessions++
	if converted {
		t[slug].Submitted++
	}
}

// top returns the most frequent choices.
func (t tally) top(n int) []choice {
	list := make([]choice, 0, len(t))
	for _, c := range t {
		c.Conversion = share(c.Submitted, c.Sessions)
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.Sessions, a.Sessions), strings.Compare(a.Slug, b.Slug))
	})
	return list[:min(n, len(list))]
}

func printFunnel(ctx context.Context, c *cli.Command, db *Database) error {
	since, until, err := period(c)
	if err != nil {
		return err
	}
	if c.Int("top") < 1 {
		return errors.New("--top: must be at least 1")
	}
	r, err := reportFunnel(ctx, db.Archive, since, until, c.Int("top"))
	out := c.Root().Writer
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return printJSON(out, r)
	}
	_, _ = fmt.Fprintf(out, "%d sessions\n", r.Sessions)
	t := newTable(out, "STEP", "SESSIONS", "OF ALL", "LOST HERE")
	for _, s := range r.Steps {
		t.AppendRow([]any{s.Step, s.Sessions, percent(s.Share), percent(s.DropOff)})
	}
	t.Render()
	_, err = fmt.Fprintf(out, "conversion %s; %d submissions, %d of them without a tracked session; %d more in review\n",
		percent(r.Conversion), r.Submissions, r.Untracked, r.InReview)
	printChoices(out, "PROJECT TYPE", r.ProjectTypes)
	printChoices(out, "FEATURE", r.Features)
	return err
}

func printChoices(out io.Writer, title string, choices []choice) {
	if len(choices) == 0 {
		return
	}
	_, _ = fmt.Fprintln(out)
	t := newTable(out, title, "SESSIONS", "SUBMITTED", "CONVERSION")
	for _, c := range choices {
		t.AppendRow([]any{c.Slug, c.Sessions, c.Submitted, percent(c.Conversion)})
	}
	t.Render()
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
