package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Sessions and leads are counted by attribution, and sessions also by week, selections
// and the furthest step that they or their leads reached.
func funnel(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	sunday, monday := When(), When().Truncate(24*time.Hour).Add(24*time.Hour)
	ads, mail := lead.Attribution{Source: "ads", Campaign: "spring"}, lead.Attribution{Source: "mail"}
	shop := lead.Selections{ProjectType: "shop"}
	app := lead.Selections{ProjectType: "app", Features: []string{"blog", "seo"}}
	mustTrack(t, db,
		lead.Visit{SessionID: "s0", At: sunday, Attribution: ads},
		lead.Visit{SessionID: "s1", At: sunday, Attribution: ads, Selections: shop},
		lead.Visit{SessionID: "s2", At: sunday, Attribution: ads, Selections: shop},
		lead.Visit{SessionID: "s3", At: monday, Selections: app, Estimate: Visit("", sunday).Estimate},
		lead.Visit{SessionID: "s4", At: sunday, Attribution: ads},
		lead.Visit{SessionID: "s4", At: monday, Attribution: mail, Selections: app, Hints: lead.Hints{Email: "a|b@example.com"}},
		lead.Visit{SessionID: "s6", At: sunday, Attribution: mail, Selections: shop},
		lead.Visit{SessionID: "s7", At: sunday},
	)

	brings := 2.5
	for i, l := range []lead.Lead{
		{SessionID: "s6", Locale: "ro", Attribution: mail, Outcome: lead.Outcome{Value: lead.Qualified}},
		{SessionID: "s6", Locale: "en", Attribution: mail, Outcome: lead.Outcome{Value: lead.Lost}},
		{SessionID: "s7", Locale: "ro", InReview: true},
		{SessionID: "s7", Locale: "ro", InReview: true}, // rejected below
		{
			SessionID:        "s9", // a session that is not stored
			Locale:           "en",
			FirstAttribution: ads,
			Attribution:      mail,
			Outcome:          lead.Outcome{Value: lead.Won, Amount: &brings, Currency: "EUR"},
		},
	} {
		n, outcome := Lead(i), l.Outcome
		l.ID, l.SubmittedAt, l.Outcome = n.Lead.ID, n.Lead.SubmittedAt, lead.Outcome{}
		l.Estimate = lead.Estimate{Min: 100, Max: 200, Currency: "EUR"}
		n.Lead = l
		submit(t, db, n)
		ok(t, db.SetOutcome(t.Context(), l.ID, outcome))
	}
	_, err := db.Reject(t.Context(), "id-000003")
	ok(t, err)

	const waits = "/ true: 1 of 100 EUR, 0 untracked, won 0 "
	inAds := []string{"02-23 ads/spring [] 0 : 1", "02-23 ads/spring shop[] 1 : 2"}
	for name, tt := range map[string]struct {
		filter          store.FunnelFilter
		sessions, leads []string
	}{
		"all": {
			store.FunnelFilter{},
			slices.Concat([]string{"02-23 / [] 0 : 1"}, inAds, []string{
				"02-23 mail/ shop[] 5 en: 1", "03-02 / app[blog seo] 2 : 1", "03-02 mail/ app[blog seo] 3 : 1",
			}),
			[]string{waits, "mail/ false: 1 of 100 EUR, 1 untracked, won 2.5 EUR", "mail/ false: 2 of 200 EUR, 0 untracked, won 0 "},
		},
		"first touch": {
			store.FunnelFilter{FirstTouch: true, Sources: []string{"ads", "Ads"}},
			append(inAds, "03-02 ads/spring app[blog seo] 3 : 1"),
			[]string{"ads/spring false: 1 of 100 EUR, 1 untracked, won 2.5 EUR"},
		},
		"language": {
			store.FunnelFilter{Locale: "ro"},
			[]string{"02-23 mail/ shop[] 5 ro: 1"},
			[]string{waits, "mail/ false: 1 of 100 EUR, 0 untracked, won 0 "},
		},
		"time": {
			store.FunnelFilter{Since: monday, Until: monday.Add(time.Hour), Campaigns: []string{""}},
			[]string{"03-02 / app[blog seo] 2 : 1", "03-02 mail/ app[blog seo] 3 : 1"},
			nil,
		},
	} {
		sessions, leads := countFunnel(t, db, tt.filter)
		if !slices.Equal(sessions, tt.sessions) || !slices.Equal(leads, tt.leads) {
			t.Errorf("%s: counted\n%q\n%q\nwant\n%q\n%q", name, sessions, leads, tt.sessions, tt.leads)
		}
	}
}

// countFunnel returns the counts, one line for each group of sessions and of leads.
func countFunnel(t *testing.T, db Store, f store.FunnelFilter) (sessions, leads []string) {
	t.Helper()
	ofSessions, err := db.FunnelSessions(t.Context(), f)
	ok(t, err)
	for _, c := range ofSessions {
		sessions = append(sessions, fmt.Sprintf("%s %s/%s %s%v %d %s: %d", c.Week.Format("01-02"), c.Source, c.Campaign,
			c.Selections.ProjectType, c.Selections.Features, c.Step, c.Locale, c.Sessions))
	}

	ofLeads, err := db.FunnelLeads(t.Context(), f)
	ok(t, err)
	for _, c := range ofLeads {
		leads = append(leads, fmt.Sprintf("%s/%s %v: %d of %v %s, %d untracked, won %v %s", c.Source, c.Campaign,
			c.InReview, c.Leads, c.Amount, c.Currency, c.Untracked, c.WonAmount, c.WonCurrency))
	}
	slices.Sort(sessions)
	slices.Sort(leads)
	return sessions, leads
}
