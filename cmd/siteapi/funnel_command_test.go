package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/quote"
)

// dayOf is noon of a day in January 2026.
func dayOf(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

func TestFunnel(t *testing.T) {
	t.Parallel()
	s := newSite(t, "TRACK_RETENTION=0s")
	amount := 5.0
	shop, app := quote.Selections{ProjectType: "shop"}, quote.Selections{ProjectType: "web-app", Features: []string{"blog", "seo"}}
	var visits []quote.Visit
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
		visits = append(visits, v)
	}
	for session, day := range map[string]int{"early": 1, "late": 20, "review": 20} {
		visits = append(visits, quote.Visit{SessionID: session, At: dayOf(day), Selections: app})
	}
	submitted := func(id, session string, at time.Time) quote.Submission {
		return quote.Submission{ID: id, SessionID: session, Contact: quote.Contact{FirstName: "Ana", LastName: "B", Email: "a@example.com"}, SubmittedAt: at}
	}
	review := submitted("l6", "review", dayOf(12))
	review.InReview = true
	s.keep(visits, submitted("l1", "s11", dayOf(10)), submitted("l2", "s11", dayOf(11)), submitted("l3", "s12", dayOf(16)), // later: converted all the same
		submitted("l4", "nobody-tracked", dayOf(12)), submitted("l5", "early", dayOf(2)), review)

	out, code := s.run("funnel", "--json", "--since", "2026-01-05", "--until", "2026-01-15")
	var got, want any
	const report = `{"since": "2026-01-05T00:00:00Z", "until": "2026-01-15T00:00:00Z", "sessions": 13, "conversion": 0.1538, "submissions": 3,
		"inReview": 1, "untracked": 1, "steps": [
			{"step": "opened", "sessions": 13, "share": 1, "dropOff": 0}, {"step": "project type chosen", "sessions": 9, "share": 0.6923, "dropOff": 0.3077},
			{"step": "features chosen", "sessions": 6, "share": 0.4615, "dropOff": 0.3333}, {"step": "estimate seen", "sessions": 5, "share": 0.3846, "dropOff": 0.1667},
			{"step": "contact begun", "sessions": 4, "share": 0.3077, "dropOff": 0.2}, {"step": "submitted", "sessions": 2, "share": 0.1538, "dropOff": 0.5}],
		"projectTypes": [{"slug": "shop", "sessions": 5, "submitted": 1, "conversion": 0.2}, {"slug": "web-app", "sessions": 3, "submitted": 1, "conversion": 0.3333}],
		"features": [{"slug": "blog", "sessions": 4, "submitted": 1, "conversion": 0.25}, {"slug": "seo", "sessions": 3, "submitted": 1, "conversion": 0.3333}]}`
	if json.Unmarshal([]byte(out), &got) != nil || json.Unmarshal([]byte(report), &want) != nil || code != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d got %s\nwant %s", code, out, report)
	}
	var all struct {
		Sessions, Submissions, Untracked, InReview int
		Features                                   []struct{ Slug string }
	}
	if s.json(&all, "funnel", "--top", "1"); all.Sessions != 16 || all.Submissions != 5 || all.Untracked != 1 || all.InReview != 1 || len(all.Features) != 1 {
		t.Errorf("in all: %+v", all)
	}
	out, code = s.run("funnel", "--since", "2026-01-05", "--until", "2026-01-15")
	fields := strings.Join(strings.Fields(out), " ")
	for _, line := range []string{"13 sessions", "project type chosen 9 69.2 % 30.8 %", "conversion 15.4 %; 3 submissions, 1 of them without a tracked session; 1 more in review",
		"FEATURE SESSIONS SUBMITTED CONVERSION", "shop 5 1 20.0 %"} {
		if code != 0 || !strings.Contains(fields, line) {
			t.Errorf("%d: %q is not in\n%s", code, line, out)
		}
	}
	noPersonalData(t, out)
	s.says(said{"funnel --until 2020-01-01 --json", []string{`"sessions": 0`, `"features": []`}, nil})
	s.refuses(map[string]string{
		"funnel --since soon": "--since", "funnel --until x": "--until", "funnel --top 0": "--top", "funnel x": "one argument too many",
		"funnel --since 2026-01-02 --until 2026-01-01": "must be later",
	})
}
