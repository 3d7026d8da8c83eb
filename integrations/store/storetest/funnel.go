package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// one returns one of some values.
func one[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// The database counts its rows, those of an earlier release as well.
func funnel(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	random := rand.New(rand.NewPCG(1, 2))
	touch := func() lead.Attribution {
		return lead.Attribution{Source: one(random, "", "ads", "mail"), Campaign: one(random, "", "spring")}
	}

	for i := range 400 {
		v := lead.Visit{SessionID: fmt.Sprint("s", i%300), Attribution: touch()}
		v.At = When().Add(time.Duration(random.IntN(40*24)) * time.Hour)
		v.Selections = one(random, lead.Selections{}, Visit("", When()).Selections, lead.Selections{
			ProjectType: "web-app",
			Features:    []string{"blog", "seo"},
		}, lead.Selections{Timeline: "asap"})
		v.Estimate = one(random, lead.PartialEstimate{}, Visit("", When()).Estimate)
		v.Hints = one(random, lead.Hints{}, lead.Hints{Email: "a|b,c@example.com"})
		mustTrack(t, db, v)
	}

	brings := 2.5
	outcomes := []lead.Outcome{
		{},
		{Value: lead.Qualified, At: When()},
		{Value: lead.Won, Amount: &brings, Currency: "EUR", At: When()},
		{Value: lead.Won, At: When()},
		{},
		{Value: lead.Lost, At: When()},
		{},
	}
	for i := range 100 {
		n := Lead(i)
		n.Lead.SessionID = fmt.Sprint("s", random.IntN(400)) // some are not tracked
		n.Lead.SubmittedAt = When().Add(time.Duration(random.IntN(40)) * 24 * time.Hour)
		n.Lead.Locale = one(random, "", "ro", "en")
		n.Lead.Estimate.Currency, n.Lead.Estimate.Min = one(random, "EUR", "RON"), float64(i)/2
		n.Lead.FirstAttribution, n.Lead.Attribution = touch(), touch()
		n.Lead.InReview = i%5 == 0
		if _, _, err := db.Submit(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if o := outcomes[i%len(outcomes)]; !n.Lead.InReview && o.Value != "" {
			if err := db.SetOutcome(t.Context(), n.Lead.ID, o); err != nil {
				t.Fatal(err)
			}
		}
		if i%10 == 0 {
			if _, err := db.Reject(t.Context(), n.Lead.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantCounted(t, db)
}

// wantCounted compares the counts of some funnels with those of the rows.
func wantCounted(t *testing.T, db Store) {
	t.Helper()
	ads, none := "ads", ""
	week := When().Add(10 * 24 * time.Hour)
	for _, f := range []store.FunnelFilter{
		{},
		{FirstTouch: true},
		{Locale: "ro"},
		{Since: week, Until: week.Add(20 * 24 * time.Hour)},
		{Source: &ads},
		{Source: &ads, Campaign: &none, FirstTouch: true, Locale: "en", Since: week},
	} {
		got := map[string]int{}
		err := db.FunnelSessions(t.Context(), f, func(c store.SessionCount) {
			n := c.Sessions
			c.Sessions = 0
			got[fmt.Sprint(c)] += n
		})
		if err != nil {
			t.Fatal(err)
		}
		err = db.FunnelLeads(t.Context(), f, func(c store.LeadCount) {
			key := fmt.Sprint(c.Source, c.Campaign, c.InReview, c.Currency)
			got[key+" leads"] += c.Leads
			got[key+" untracked"] += c.Untracked
			got[key+" halves"] += int(c.Amount * 2)
			got[key+" won halves"] += int(c.WonAmount * 2)
		})
		if err != nil {
			t.Fatal(err)
		}

		maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
		if want := countRows(t, db, f); !maps.Equal(got, want) {
			t.Errorf("%+v: counted are\n%v\nwant\n%v", f, got, want)
		}
	}
}

// countRows counts the rows one by one.
func countRows(t *testing.T, db Store, f store.FunnelFilter) map[string]int {
	t.Helper()
	counts := map[string]int{}
	selects := func(at time.Time, first, last lead.Attribution) (touch lead.Attribution, within bool) {
		if touch = last; f.FirstTouch {
			touch = first
		}
		return touch, !at.Before(f.Since) && (f.Until.IsZero() || at.Before(f.Until)) &&
			(f.Source == nil || *f.Source == touch.Source) &&
			(f.Campaign == nil || *f.Campaign == touch.Campaign)
	}

	tracked := map[string]bool{}
	for _, session := range all(t, db.Sessions(t.Context())) {
		tracked[session.ID] = true
	}

	latest := map[string]string{} // languages of leads, by their sessions
	reached := map[string]store.FunnelStep{}
	for _, l := range all(t, db.Leads(t.Context(), store.Filter{Locale: f.Locale})) {
		if !l.InReview && !l.Rejected {
			latest[l.SessionID] = l.Locale
			step := map[lead.OutcomeValue]store.FunnelStep{lead.Qualified: store.Qualified, lead.Won: store.Won}
			reached[l.SessionID] = max(reached[l.SessionID], store.Submitted, step[l.Outcome.Value])
		}

		touch, within := selects(l.SubmittedAt, l.FirstAttribution, l.Attribution)
		if l.Rejected || !within {
			continue
		}
		key := fmt.Sprint(touch.Source, touch.Campaign, l.InReview, l.Estimate.Currency)
		counts[key+" leads"]++
		if !tracked[l.SessionID] {
			counts[key+" untracked"]++
		}
		if brings := l.Outcome.Amount; brings != nil {
			counts[key+" won halves"] += int(*brings * 2)
		}
		if halves := int(l.Estimate.Min * 2); halves > 0 {
			counts[key+" halves"] += halves
		}
	}

	for _, session := range all(t, db.Sessions(t.Context())) {
		locale, converted := latest[session.ID]
		touch, within := selects(session.LastSeen, session.FirstTouch, session.LastTouch)
		if !within || f.Locale != "" && !converted {
			continue
		}

		seen := session.LastSeen.Truncate(24 * time.Hour)
		c := store.SessionCount{
			Week:       seen.AddDate(0, 0, -(int(seen.Weekday())+6)%7),
			Source:     touch.Source,
			Campaign:   touch.Campaign,
			Selections: session.Selections,
			Locale:     locale,
		}
		switch {
		case converted:
			c.Step = reached[session.ID]
		case session.Hints != lead.Hints{}:
			c.Step = store.Typed
		case cmp.Or(session.Estimate.Min, session.Estimate.Max) != nil:
			c.Step = store.Estimated
		case session.Selections.ProjectType != "":
			c.Step = store.Chose
		}
		counts[fmt.Sprint(c)]++
	}
	return counts
}
