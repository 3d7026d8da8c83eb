package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/quote"
)

// visited tracks the state of a session at a time.
func (s *service) visited(t *testing.T, v quote.Visit) {
	t.Helper()
	if err := s.app.data.quotes.Track(t.Context(), v); err != nil {
		t.Fatal(err)
	}
}

// dayOf is noon of a day in January 2026.
func dayOf(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

// lead of a session at a time.
func submissionOf(id, session string, at time.Time) quote.Submission {
	return quote.Submission{
		ID: id, SessionID: session, Contact: quote.Contact{FirstName: "A", LastName: "B", Email: "a@example.com"},
		Selections: quote.Selections{ProjectType: "shop"}, Estimate: quote.Estimate{Min: 1, Max: 2, Currency: "EUR"}, SubmittedAt: at,
	}
}

func TestFunnel(t *testing.T) {
	t.Parallel()
	s := startService(t, map[string]string{"TRACK_RETENTION": "0s"})
	amount := 5.0
	shop, app := quote.Selections{ProjectType: "shop"}, quote.Selections{ProjectType: "web-app", Features: []string{"blog", "seo"}}
	for i, v := range []quote.Visit{
		{}, {}, {}, {}, // four open the calculator and go
		{Selections: shop}, {Selections: shop}, {Selections: shop}, // three choose a project type
		{Selections: app}, // one chooses features
		{Selections: shop, Estimate: quote.PartialEstimate{Max: &amount}},                                                  // one sees an estimate, without features
		{Selections: app, Estimate: quote.PartialEstimate{Min: &amount}, Hints: quote.Hints{FirstName: "Ana"}},             // one begins the contact form
		{Selections: quote.Selections{Features: []string{"blog"}}, Hints: quote.Hints{Email: "a@example.com"}},             // another one, without a project type
		{Selections: app, Estimate: quote.PartialEstimate{Min: &amount}, Hints: quote.Hints{Email: "submits@example.com"}}, // submits, twice
		{Selections: shop}, // submits from a state that shows little
	} {
		v.SessionID, v.At = fmt.Sprint("s", i), dayOf(10)
		s.visited(t, v)
	}
	s.visited(t, quote.Visit{SessionID: "early", At: dayOf(1), Selections: app})
	s.visited(t, quote.Visit{SessionID: "late", At: dayOf(20), Selections: app})
	s.visited(t, quote.Visit{SessionID: "held", At: dayOf(20), Selections: app})
	s.keep(t, submissionOf("l1", "s11", dayOf(10)))
	s.keep(t, submissionOf("l2", "s11", dayOf(11)))
	s.keep(t, submissionOf("l3", "s12", dayOf(16))) // later than the time asked for: converted all the same
	s.keep(t, submissionOf("l4", "nobody-tracked", dayOf(12)))
	s.keep(t, submissionOf("l5", "early", dayOf(2)))
	held := submissionOf("l6", "held", dayOf(12))
	held.InReview = true
	s.keep(t, held)

	run := func(args ...string) funnelReport {
		t.Helper()
		out, err := s.siteapi(append([]string{"funnel", "--json"}, args...)...)
		var r funnelReport
		if err != nil || json.Unmarshal([]byte(out), &r) != nil {
			t.Fatalf("%v %s", err, out)
		}
		return r
	}
	want := funnelReport{
		Since: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC),
		Sessions: 13, Conversion: 0.1538, Submissions: 3, Held: 1, Untracked: 1,
		Steps: []funnelStep{
			{"opened", 13, 1, 0}, {"project type chosen", 9, 0.6923, 0.3077}, {"features chosen", 6, 0.4615, 0.3333},
			{"estimate seen", 5, 0.3846, 0.1667}, {"contact begun", 4, 0.3077, 0.2}, {"submitted", 2, 0.1538, 0.5},
		},
		ProjectTypes: []choice{{"shop", 5, 1, 0.2}, {"web-app", 3, 1, 0.3333}},
		Features:     []choice{{"blog", 4, 1, 0.25}, {"seo", 3, 1, 0.3333}},
	}
	if got := run("--since", "2026-01-05", "--until", "2026-01-15"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := run(); got.Sessions != 16 || got.Submissions != 5 || got.Untracked != 1 || got.Steps[5].Sessions != 3 || got.Held != 1 {
		t.Errorf("in all: %+v", got)
	}
	if got := run("--until", "2020-01-01"); got.Sessions != 0 || got.Conversion != 0 || len(got.Steps) != 6 || got.Features == nil {
		t.Errorf("of nothing: %+v", got)
	}
	if got := run("--top", "1", "--since", "2026-01-05", "--until", "2026-01-15"); len(got.Features) != 1 || got.Features[0].Slug != "blog" {
		t.Errorf("the first: %+v", got.Features)
	}
	out, err := s.siteapi("funnel", "--since", "2026-01-05", "--until", "2026-01-15")
	for _, line := range []string{
		"13 sessions since 2026-01-05T00:00:00Z until 2026-01-15T00:00:00Z", "project type chosen          9   69.2 %     30.8 %",
		"conversion 15.4 %; 3 submissions, of them 1 without a tracked session; 1 more held", "FEATURE  SESSIONS  SUBMITTED  CONVERSION", "shop          5         1          20.0 %",
	} {
		if err != nil || !strings.Contains(out, line) {
			t.Errorf("%v: %q is not in\n%s", err, line, out)
		}
	}
	if strings.Contains(out, "@") || strings.Contains(out, "Ana") {
		t.Errorf("the report names a visitor:\n%s", out)
	}
	for args, want := range map[string]string{
		"funnel --since soon": "--since", "funnel --until x": "--until", "funnel --top 0": "--top 0", "funnel x": "one argument too many",
		"funnel --since 2026-01-02 --until 2026-01-01": "must be later",
	} {
		if out, err := s.siteapi(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %s", args, err, out)
		}
	}
}

// However the work is cut into parts, the report is the same.
func TestFunnelInParts(t *testing.T) {
	t.Parallel()
	s := startService(t, map[string]string{"TRACK_RETENTION": "0s"})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		v := quote.Visit{SessionID: fmt.Sprint("s", i), At: dayOf(1 + r.IntN(20))}
		if r.IntN(2) == 0 {
			v.Selections.ProjectType = fmt.Sprint("type-", r.IntN(4))
		}
		s.visited(t, v)
	}
	for i := range 120 {
		s.keep(t, submissionOf(fmt.Sprint("l", i), fmt.Sprint("s", r.IntN(350)), dayOf(1+r.IntN(20))))
	}
	report := func(size int) funnelReport {
		f := &funnel{archive: s.app.data.archive, since: dayOf(3), until: dayOf(17), partSize: size, choices: 100}
		got, err := f.report(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	whole := report(funnelPart)
	if whole.Sessions < 100 || whole.Untracked == 0 || whole.Steps[5].Sessions == 0 {
		t.Fatalf("the data shows nothing: %+v", whole)
	}
	for _, size := range []int{1, 7, 50, 119, 120, 121} {
		if got := report(size); !reflect.DeepEqual(got, whole) {
			t.Errorf("in parts of %d:\n%+v\nas a whole:\n%+v", size, got, whole)
		}
	}
}

// Strangers may make up slugs: those beyond the bound are counted together.
func TestFunnelBoundsChoices(t *testing.T) {
	t.Parallel()
	c := tally{most: 3, counts: map[string]*choice{}}
	for _, slug := range []string{"a", "b", "a", "c", "d", "e", "a", "d"} {
		c.add(slug, slug == "d")
	}
	want := []choice{{"(others)", 3, 2, 0.6667}, {"a", 3, 0, 0}, {"b", 1, 0, 0}, {"c", 1, 0, 0}}
	if got := c.top(10); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFunnelWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	s.keep(t, submissionOf("l", "s", dayOf(1)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &funnel{archive: s.app.data.archive, partSize: 10, choices: 10}
	if _, err := f.report(ctx, 1); err == nil {
		t.Error("a report without a database succeeded")
	}
	s.stop()
	s.damage(t, `UPDATE sessions SET state = 'x'`)
	s.damage(t, `INSERT INTO sessions VALUES ('s', 'x', 0, 0, 1)`)
	if out, err := s.siteapi("funnel"); err == nil || !strings.Contains(err.Error(), "sessions") {
		t.Errorf("%v %s", err, out)
	}
}
