package leads

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// dayOf returns noon of a day in January 2026.
func dayOf(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

func TestFunnel(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t, "TRACK_RETENTION=0s")
	amount := 5.0
	estimate := lead.PartialEstimate{Min: &amount}
	shop, app := lead.Selections{ProjectType: "shop"},
		lead.Selections{ProjectType: "web-app", Features: []string{"blog", "seo"}}

	var visits []lead.Visit
	for i, v := range []lead.Visit{
		{}, {}, {}, {}, // four only open the calculator
		{Selections: shop}, {Selections: shop}, {Selections: shop}, // three choose a project type
		{Selections: app}, // one chooses features
		// One gets an estimate without features. Two begin the contact form, one of them
		// without a project type.
		{Selections: shop, Estimate: lead.PartialEstimate{Max: &amount}},
		{Selections: app, Estimate: estimate, Hints: lead.Hints{FirstName: "Ana"}},
		{
			Selections: lead.Selections{Features: []string{"blog"}},
			Hints:      lead.Hints{Email: "a@example.com"},
		},
		// One submits twice, and one submits with few choices.
		{Selections: app, Estimate: estimate, Hints: lead.Hints{Email: "submits@example.com"}},
		{Selections: shop},
	} {
		v.SessionID, v.At = fmt.Sprint("s", i), dayOf(10)
		visits = append(visits, v)
	}

	for session, day := range map[string]int{"early": 1, "late": 20, "review": 20} {
		visits = append(visits, lead.Visit{SessionID: session, At: dayOf(day), Selections: app})
	}

	ranges := map[string]lead.Estimate{
		"l1": {Min: 0.1, Max: 1e6, Currency: "EUR"},
		"l2": {Min: 0.2, Max: 1e6, Currency: "EUR"},
		"l4": {Min: 500, Max: 1e6, Currency: "RON"},
	}
	submitted := func(id, session string, at time.Time) lead.Lead {
		contact := lead.Contact{FirstName: "Ana", LastName: "B", Email: "a@example.com"}
		return lead.Lead{
			ID:          "funnel-" + id,
			SessionID:   session,
			Contact:     contact,
			SubmittedAt: at,
			Estimate:    ranges[id],
		}
	}

	review, spam := submitted("l6", "review", dayOf(12)), submitted("l7", "s12", dayOf(12))
	review.InReview, spam.InReview = true, true
	s.Store(visits,
		submitted("l1", "s11", dayOf(10)),
		submitted("l2", "s11", dayOf(11)),
		submitted("l3", "s12", dayOf(16)), // at the end of the period, but the session is within it
		submitted("l4", "not-tracked", dayOf(12)),
		submitted("l5", "early", dayOf(2)),
		review,
		spam,
	)

	s.Prints("leads reject funnel-l7")
	s.Prints("leads outcome funnel-l2 won --amount 1200.5 --currency EUR")
	s.Prints("leads outcome funnel-l1 qualified") // its session was still won with l2
	s.Prints("leads outcome funnel-l3 qualified")
	period := []string{"funnel", "--since", "2026-01-10T12:00:00Z", "--until", "2026-01-16T12:00:00Z"}
	out, code := s.Run(append(period, "--json")...)

	var got map[string]any
	var want any
	const report = `{"leads": 3, "inReview": 1, "untracked": 1, "steps": [
			{"name": "VISITED", "count": 13, "conversion": null}, ` +
		`{"name": "CHOSE", "count": 9, "conversion": 0.6923076923076923},
			{"name": "ESTIMATED", "count": 5, "conversion": 0.5555555555555556}, ` +
		`{"name": "TYPED", "count": 4, "conversion": 0.8},
			{"name": "SUBMITTED", "count": 2, "conversion": 0.5}, ` +
		`{"name": "QUALIFIED", "count": 2, "conversion": 1}, {"name": "WON", "count": 1, "conversion": 0.5}],
		"weeks": [{"week": "2026-W02", "start": "2026-01-05T00:00:00Z", "locale": null, "steps": [
			{"name": "VISITED", "count": 13, "conversion": null}, ` +
		`{"name": "CHOSE", "count": 9, "conversion": 0.6923076923076923},
			{"name": "ESTIMATED", "count": 5, "conversion": 0.5555555555555556}, ` +
		`{"name": "TYPED", "count": 4, "conversion": 0.8},
			{"name": "SUBMITTED", "count": 2, "conversion": 0.5}, ` +
		`{"name": "QUALIFIED", "count": 2, "conversion": 1}, {"name": "WON", "count": 1, "conversion": 0.5}]}],
		"choices": [{"field": "projectType", "value": "shop", "count": 5, "submitted": 1},
			{"field": "projectType", "value": "web-app", "count": 3, "submitted": 1},
			{"field": "features", "value": "blog", "count": 4, "submitted": 1},
			{"field": "features", "value": "seo", "count": 3, "submitted": 1}],
		"sources": [{"source": "", "campaign": "", "sessions": 13, "estimates": 5, "leads": 3,
			"sums": [{"currency": "EUR", "amount": 0.3}, {"currency": "RON", "amount": 500}],
			"won": [{"currency": "EUR", "amount": 1200.5}]}]}`

	err := json.Unmarshal([]byte(out), &got)
	delete(got, "rows") // the same numbers, see below
	if err != nil || json.Unmarshal([]byte(report), &want) != nil || code != 0 || !reflect.DeepEqual(any(got), want) {
		t.Errorf("%d got %s\nwant %s", code, out, report)
	}

	var all schema.Funnel
	if s.JSON(&all, "funnel"); all.Steps[0].Count != 16 || all.Steps[4].Count != 3 || all.Leads != 5 ||
		all.Untracked != 1 || all.InReview != 1 || len(all.Weeks) != 3 {
		t.Errorf("without a period: %+v", all)
	}

	out, code = s.Run(period...)
	fields := strings.Join(strings.Fields(out), " ")
	for _, line := range []string{
		"VISITED 13",
		"CHOSE 9 0.69",
		"leads 3 untracked 1 inReview 1",
		"FIELD VALUE COUNT SUBMITTED",
		"projectType shop 5 1",
		"13 5 3 0.3 EUR, 500 RON 1200.5 EUR",
	} {
		if code != 0 || !strings.Contains(fields, line) {
			t.Errorf("%d: %q is not in\n%s", code, line, out)
		}
	}

	apptest.NoPersonalData(t, out)

	// The CSV is one table, with each number in a row of its own.
	table, _ := s.Run(append(period, "--csv")...)
	for i, line := range []string{
		"section,from,to,dimension,value,currency,count,amount",
		"\nsteps,2026-01-10T12:00:00Z,2026-01-16T12:00:00Z,,VISITED,,13,\n",
		"\nweeks,2026-01-05T00:00:00Z,2026-01-12T00:00:00Z,,VISITED,,13,\n",
		"\nchoices,2026-01-10T12:00:00Z,2026-01-16T12:00:00Z,projectType,shop,,5,\n",
		"\nchoices.submitted,2026-01-10T12:00:00Z,2026-01-16T12:00:00Z,projectType,shop,,1,\n",
		"\nsources.sessions,2026-01-10T12:00:00Z,2026-01-16T12:00:00Z,,,,13,\n",
		"\nsources.sums,2026-01-10T12:00:00Z,2026-01-16T12:00:00Z,,,EUR,,0.3\n",
		"\nsources.won,2026-01-10T12:00:00Z,2026-01-16T12:00:00Z,,,EUR,,1200.5\n",
		"\nleads,2026-01-10T12:00:00Z,2026-01-16T12:00:00Z,,all,,3,\n",
	} {
		if !strings.Contains(table, line) || i == 0 && !strings.HasPrefix(table, line) {
			t.Errorf("the CSV lacks %q:\n%s", line, table)
		}
	}
	if strings.Contains(out, "SECTION") {
		t.Errorf("the rows of the CSV are printed as a table, too:\n%s", out)
	}
	s.Prints("funnel --until 2020-01-01 --json", `"count": 0`, `"choices": []`)
	s.Refuses(map[string]string{
		"funnel --since soon": "--since",
		"funnel --until x":    "--until",
		"funnel --locale xx":  "must be one of en, es, ro",
	})
}

// However many slugs and sources clients invent, options of the CMS are counted separately,
// without options the frequent values are, and no session is lost.
func TestFunnelOfInventedValues(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		apptest.OwnContent(t): "2 choices blog 1, (others) 60",
		withoutPrices(t):      "51 choices often 2, (others) 10",
	} {
		s := apptest.Start(t, "CMS_FILE="+content, "TRACK_RETENTION=0s")
		visits := []string{"blog", "often", "often"}
		for i := range 58 {
			visits = append(visits, fmt.Sprint("invented-", i))
		}
		for i, slug := range visits {
			must(t, s.App.Data.Store.Track(t.Context(), lead.Visit{
				SessionID:   fmt.Sprint("visit-", i),
				At:          dayOf(10),
				Selections:  lead.Selections{Features: []string{slug}},
				Attribution: lead.Attribution{Source: slug},
			}))
		}

		data, _ := s.OperateAs(schema.RoleSales, `{ funnel { choices { value count } sources { source sessions } } }`)
		choices, sources := data.Funnel.Choices, data.Funnel.Sources
		first, last := choices[0], choices[len(choices)-1]
		got := fmt.Sprint(len(choices), " choices ", first.Value, " ", first.Count, ", ", last.Value, " ", last.Count)
		if rest := sources[50]; got != want || len(sources) != 51 || rest.Source != "(others)" || rest.Sessions != 10 {
			t.Errorf("%s, want %s; %d sources, last %+v", got, want, len(sources), rest)
		}
	}
}

// A session is counted by its own touches and in the language of its latest lead, and a
// lead by the touches that were stored with it.
func TestFunnelBySource(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s := apptest.Start(t, "DATABASE_URL="+database)
		for i, c := range []struct {
			session, first, last string
			tracked, submits     bool
		}{
			{"one", "google", "mail", true, true},
			{"one", "google", "mail", false, true},
			{"two", "google", "google", true, true},
			{"untracked", "", "mail", false, true},
			{"visitor", "google", "google", true, false},
		} {
			if c.tracked {
				s.TrackThrough("REST", object{
					"sessionId": c.session, "attribution": object{"source": c.first, "campaign": "spring"},
				})
			}
			if c.submits {
				s.Submit(c.session, // without its message it would repeat the previous lead
					fmt.Sprintf(`"message": "request %d", "locale": %q`, i, []string{"ro", "en"}[i%2]),
					fmt.Sprintf(`"attribution": {"source": %q, "campaign": "spring"}`, c.last))
			}
		}

		// A viewer, who must not learn where a single visitor came from, sees no source of fewer than
		// 3 sessions, however the period is narrowed.
		const always = `since: "2026-01-01T00:00:00Z", until: "2099-01-01T00:00:00Z", `
		for arguments, want := range map[string][2]string{
			"touch: FIRST":                       {`google spring 3 2 3, mail spring 0 0 1`, `google spring 3 2 3, (others)  0 0 1`},
			"touch: LAST":                        {`mail spring 0 0 3, google spring 3 2 1`, `google spring 3 2 1, (others)  0 0 3`},
			`source: "mail", campaign: "spring"`: {`mail spring 0 0 3`, `(others)  0 0 3`},
			always + `source: "google"`:          {`google spring 3 2 1`, `google spring 3 2 1`},
			`source: ""`:                         {``, ``},
			`locale: ro`:                         {`google spring 2 2 1, mail spring 0 0 1`, `(others)  2 2 2`},
			`locale: es`:                         {``, ``},
		} {
			for i, role := range []schema.Role{schema.RoleSales, schema.RoleViewer} {
				data, code := s.OperateAs(role, `{ funnel(`+arguments+`) { sources { source campaign sessions estimates leads } } }`)
				var got []string
				for _, row := range data.Funnel.Sources {
					got = append(got, fmt.Sprint(row.Source, " ", row.Campaign, " ", row.Sessions, " ", row.Estimates, " ", row.Leads))
				}
				if text := strings.Join(got, ", "); code != "" || text != want[i] {
					t.Errorf("%s as %s: %s %q, want %q", arguments, role, code, text, want[i])
				}
			}
		}

		data, _ := s.OperateAs(schema.RoleSales, `{ funnel { weeks { locale steps { count } } } }`)
		var weeks []string
		for _, w := range data.Funnel.Weeks {
			weeks = append(weeks, fmt.Sprint(schema.ValueOr(w.Locale, "-"), " ", w.Steps[0].Count))
		}
		if got := strings.Join(weeks, ", "); got != "- 1, en 1, ro 1" {
			t.Errorf("the weeks are %q", got)
		}

		// The error of an unknown value lists the known ones, but not to a viewer.
		for _, operation := range []string{
			`{ funnel(source: "nowhere") { leads } }`,
			`{ funnel(campaign: "nowhere") { leads } }`,
			`{ funnel(source: "google", campaign: "springs") { leads } }`,
			`{ leads(filter: {source: "nowhere"}) { counts { total } } }`,
		} {
			for role, shown := range map[schema.Role]bool{schema.RoleViewer: false, schema.RoleSales: true} {
				text := string(s.Response(role, operation))
				listed := strings.Contains(text, "mail") || strings.Contains(text, `"spring"`)
				if listed != shown || !strings.Contains(text, `"not_allowed"`) {
					t.Errorf("%s as %s: %s", operation, role, text)
				}
			}
		}
	})
}

// The weeks of the funnel are those of TIME_ZONE, also where the clock was changed.
func TestFunnelWeeks(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t, "TRACK_RETENTION=0s")
	var visits []lead.Visit
	for i, at := range []string{
		"2026-03-22T21:59:59Z", // Sunday in Bucharest, at UTC+2
		"2026-03-22T22:00:00Z",
		"2026-03-29T20:59:59Z", // Sunday in Bucharest, at UTC+3
		"2026-03-29T21:00:00Z",
		"2026-03-30T02:59:59Z", // Sunday in Santiago, at UTC-3
		"2026-04-06T03:59:59Z", // Sunday in Santiago, at UTC-4
	} {
		seen, err := time.Parse(time.RFC3339, at)
		must(t, err)
		visits = append(visits, lead.Visit{SessionID: fmt.Sprint("s", i), At: seen})
	}
	s.Store(visits)

	for zone, want := range map[string]string{
		"UTC":              "2026-W12 2026-03-16T00:00:00Z 2; 2026-W13 2026-03-23T00:00:00Z 2; 2026-W14 2026-03-30T00:00:00Z 1; 2026-W15 2026-04-06T00:00:00Z 1",
		"Europe/Bucharest": "2026-W12 2026-03-15T22:00:00Z 1; 2026-W13 2026-03-22T22:00:00Z 2; 2026-W14 2026-03-29T21:00:00Z 2; 2026-W15 2026-04-05T21:00:00Z 1",
		"America/Santiago": "2026-W12 2026-03-16T03:00:00Z 2; 2026-W13 2026-03-23T03:00:00Z 3; 2026-W14 2026-03-30T03:00:00Z 1",
		"Asia/Kathmandu":   "2026-W13 2026-03-22T18:15:00Z 2; 2026-W14 2026-03-29T18:15:00Z 3; 2026-W15 2026-04-05T18:15:00Z 1",
	} {
		out, _ := apptest.Command(t, append(slices.Clone(s.Env), "TIME_ZONE="+zone), "funnel", "--json")
		var report struct {
			Weeks []struct {
				Week, Start string
				Steps       []struct{ Count int }
			}
		}
		must(t, json.Unmarshal([]byte(out), &report))
		var got []string
		for _, w := range report.Weeks {
			got = append(got, fmt.Sprint(w.Week, " ", w.Start, " ", w.Steps[0].Count))
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s: %s, want %s", zone, got, want)
		}
	}
}
