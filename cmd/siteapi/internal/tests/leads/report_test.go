package leads

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// A report counts the leads of a period in groups. Each of its numbers is that of a list with
// the filter which the schema names.
func TestLeadReport(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s := apptest.Start(t, "DATABASE_URL="+database, "TIME_ZONE=Europe/Bucharest", "VISITOR_MAIL=off",
			"ADMIN_TOKENS="+apptest.Owners("ana@example.com"))
		data := s.App.Data.Store
		amount, cents := 1200.5, 0.1
		for i, l := range []struct {
			at               string
			source, campaign string
			outcome          lead.Outcome
			answered         time.Duration // 0: not yet
			review           bool
		}{
			{at: "2026-03-31T20:59:59.999Z", source: "ads", campaign: "spring", answered: 24 * time.Hour,
				outcome: lead.Outcome{Value: lead.Won, Amount: &amount, Currency: "EUR"}},
			{at: "2026-03-31T21:00:00Z", source: "Ads", answered: 24*time.Hour + time.Millisecond, // midnight in Bucharest
				outcome: lead.Outcome{Value: lead.Won, Amount: &cents, Currency: "EUR"}},
			{at: "2026-04-30T20:59:59Z", answered: 90 * time.Minute, outcome: lead.Outcome{Value: lead.Lost}},
			{at: "2026-04-30T20:59:59Z", source: "ads", outcome: lead.Outcome{Value: lead.Won}},
			{at: "2026-10-25T01:30:00Z", source: "newsletter", answered: time.Hour, outcome: lead.Outcome{Value: lead.Qualified}},
			{at: "2026-10-31T22:00:00Z", source: "newsletter"}, // winter time: midnight of 1 November
			{at: "2026-11-01T00:00:00Z", source: "bots", review: true},
		} {
			at, err := time.Parse(time.RFC3339, l.at)
			must(t, err)
			id := fmt.Sprintf("report%02d", i)
			n := lead.Lead{ID: id, SessionID: id, SubmittedAt: at, InReview: l.review, Locale: "ro",
				Contact:     lead.Contact{FirstName: "A", LastName: "B", Email: id + "@example.com"},
				Attribution: lead.Attribution{Source: l.source, Campaign: l.campaign}}
			_, _, err = data.Submit(t.Context(), store.NewLead{Lead: n, ContentKey: id})
			must(t, err)
			if l.outcome.Value != "" {
				l.outcome.At = at
				must(t, data.SetOutcome(t.Context(), id, l.outcome))
			}
			if l.answered > 0 {
				_, err = data.SetAnswered(t.Context(), id, at.Add(l.answered))
				must(t, err)
			}
		}
		s.Prints("leads assign report00 ana@example.com")

		// Each row: name, leads, answered within a day, won, lost, amounts, median of hours.
		for arguments, want := range map[string]string{
			``:             "2026-03 1 1 1 0 1200.5 EUR 24; 2026-04 3 1 2 1 0.1 EUR 12.75; 2026-10 1 1 0 0 1; 2026-11 1 0 0 0 -",
			`(by: SOURCE)`: "ads 3 1 3 0 1200.6 EUR 24; newsletter 2 1 0 0 1;  1 1 0 1 1.5",
			`(by: CAMPAIGN, until: "2026-05-01T00:00:00Z")`:                                 " 3 1 2 1 0.1 EUR 12.75; spring 1 1 1 0 1200.5 EUR 24",
			`(by: OWNER, since: "2026-03-31T20:59:59.999Z", until: "2026-03-31T21:00:00Z")`: "ana@example.com 1 1 1 0 1200.5 EUR 24",
			`(since: "2026-04-30T20:59:59Z")`:                                               "2026-04 2 1 1 1 1.5; 2026-10 1 1 0 0 1; 2026-11 1 0 0 0 -",
			`(since: "2027-01-01T00:00:00Z")`:                                               "",
		} {
			const row = `{ name since until leads answeredWithinDay won lost amounts { currency amount } medianHoursToAnswer }`
			response, code := s.OperateAs(admin, `{ leadReport`+arguments+` { groups `+row+` total `+row+` } }`)
			var got []string
			var sum schema.LeadReportRow
			for _, g := range response.LeadReport.Groups {
				got = append(got, reportRow(g))
				sum.Leads, sum.Won, sum.Lost = sum.Leads+g.Leads, sum.Won+g.Won, sum.Lost+g.Lost
				opensItsLeads(t, s, arguments, g)
			}
			if text := strings.Join(got, "; "); code != "" || text != want {
				t.Errorf("%s: %s %q, want %q", arguments, code, text, want)
			}
			if total := response.LeadReport.Total; total.Leads != sum.Leads || total.Won != sum.Won || total.Lost != sum.Lost {
				t.Errorf("%s: the total is %s", arguments, reportRow(total))
			}
		}
		if _, code := s.OperateAs(admin, `{ leadReport(since: "2026-02-01T00:00:00Z", until: "2026-01-01T00:00:00Z") { total { leads } } }`); code != "BAD_USER_INPUT" {
			t.Errorf("a period that ends before it begins: %q", code)
		}
		printed := s.Prints("leads report --since 2026-04-01 --until 2026-04-30 --json").Out
		if !strings.Contains(printed, `"leads": 3`) && !strings.Contains(printed, `"leads":3`) {
			t.Errorf("April in the command: %s", printed)
		}
		s.Prints("leads report --by source", "1200.6 EUR", "newsletter")
	})
}

// reportRow describes a row of a report.
func reportRow(g *schema.LeadReportRow) string {
	parts := []string{fmt.Sprint(g.Name, " ", g.Leads, " ", g.AnsweredWithinDay, " ", g.Won, " ", g.Lost)}
	for _, sum := range g.Amounts {
		parts = append(parts, fmt.Sprint(sum.Amount, " ", sum.Currency))
	}
	if g.MedianHoursToAnswer == nil {
		return strings.Join(append(parts, "-"), " ")
	}
	return strings.Join(append(parts, fmt.Sprint(*g.MedianHoursToAnswer)), " ")
}

// opensItsLeads lists the leads of each number of a row.
func opensItsLeads(t *testing.T, s *apptest.Service, arguments string, g *schema.LeadReportRow) {
	t.Helper()
	var filter []string
	for field, at := range map[string]*time.Time{"since": g.Since, "until": g.Until} {
		if at != nil {
			filter = append(filter, fmt.Sprintf("%s: %q", field, at.Format(time.RFC3339Nano)))
		}
	}
	for group, field := range map[string]string{"SOURCE": "source", "OWNER": "owner", "CAMPAIGN": "campaign"} {
		if strings.Contains(arguments, group) {
			filter = append(filter, fmt.Sprintf("%s: %q", field, g.Name))
		}
	}
	for more, want := range map[string]int{
		"results: [OPEN, WON, LOST]":                          g.Leads,
		"results: [OPEN, WON, LOST], answeredWithinDay: true": g.AnsweredWithinDay,
		"results: [WON]":                                      g.Won,
		"results: [LOST]":                                     g.Lost,
	} {
		data, code := s.OperateAs(admin, `{ leads(filter: {`+strings.Join(append(filter, more), ", ")+`}) { counts { total } } }`)
		if got := data.Leads.Counts; code != "" || got == nil || got.Total != want {
			t.Errorf("%s of %q: the list has %+v %s, want %d", more, g.Name, got, code, want)
		}
	}
}

// A lead is answered by the first status, note or mail, and is due from its follow-up on.
func TestAnswersAndFollowUps(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "TIME_ZONE=Europe/Bucharest")
	id := s.Submit("one")
	zone, err := time.LoadLocation("Europe/Bucharest")
	must(t, err)
	today := schema.StartOfDay(time.Now().In(zone), zone)
	at := func(at time.Time) string { return `, at: "` + at.Format(time.RFC3339Nano) + `"` }
	for _, tt := range []struct {
		mutation string
		want     string // answered, with a follow-up, and the number of leads that are due
	}{
		{`setLeadStatuses(leads: ["` + id + `"], status: NEW) { leads`, "false false 0"},
		{`setLeadFollowUp(lead: "` + id + `"` + at(today) + `) { lead`, "false true 1"},
		{`setLeadFollowUp(lead: "` + id + `"` + at(today.AddDate(-7, 0, 0)) + `) { lead`, "false true 1"}, // as an undo restores it
		{`setLeadStatuses(leads: ["` + id + `"], status: CONTACTED) { leads`, "true true 1"},
		{`setLeadStatuses(leads: ["` + id + `"], status: NEW) { leads`, "false true 1"}, // set by mistake
		{`setLeadFollowUp(lead: "` + id + `"` + at(today.AddDate(0, 0, 2)) + `) { lead`, "false true 0"},
		{`setLeadFollowUp(lead: "` + id + `", at: "2027-01-11") { lead`, "BAD_USER_INPUT"}, // no time
		{`setLeadFollowUp(lead: "` + id + `"` + at(time.Time{}) + `) { lead`, "BAD_USER_INPUT"},
		{`setLeadFollowUp(lead: "` + id + `"` + at(time.Unix(0, 0)) + `) { lead`, "BAD_USER_INPUT"},
		{`setLeadFollowUp(lead: "nosuch12") { lead`, "NOT_FOUND"},
		{`markLeadAnswered(lead: "nosuch12") { lead`, "NOT_FOUND"},
		{`setLeadStatuses(leads: ["` + id + `"], status: CLOSED) { leads`, "true true 0"},
		{`markLeadAnswered(lead: "` + lead.Reference(id) + `") { lead`, "true true 0"},
		{`setLeadStatuses(leads: ["` + id + `"], status: NEW) { leads`, "true true 0"}, // the mail remains
		{`setLeadFollowUp(lead: "` + id + `") { lead`, "true false 0"},
		{`setLeadFollowUp(lead: "` + id + `", at: null) { lead`, "true false 0"},
	} {
		data, got := s.OperateAs(admin, `mutation { changed: `+tt.mutation+` { answeredAt followUpAt } } }`)
		for _, l := range append(data.Changed.Leads, data.Changed.Lead) {
			if l != nil {
				counted, _ := s.OperateAs(admin, `{ leads(filter: {due: true}) { edges { node { id } } counts { due } } }`)
				got = fmt.Sprint(l.AnsweredAt != nil, " ", l.FollowUpAt != nil, " ", len(counted.Leads.Edges))
				if counted.Leads.Counts.Due != len(counted.Leads.Edges) {
					t.Errorf("%d leads are due, %d listed", counted.Leads.Counts.Due, len(counted.Leads.Edges))
				}
			}
		}
		if got != tt.want {
			t.Errorf("%.60s: %q, want %q", tt.mutation, got, tt.want)
		}
	}

	tomorrow := today.AddDate(0, 0, 1)
	s.Prints("leads follow-up "+id+" "+tomorrow.Format(time.DateOnly), "followUpAt")
	s.Prints("leads show "+id, tomorrow.Format(time.DateOnly)+" 00:00")
	s.Prints("leads list --due").Without(lead.Reference(id))
	s.Prints("leads follow-up "+id+" 48h", time.Now().In(zone).Add(48*time.Hour).Format(time.DateOnly))
	s.Prints("leads list --due").Without(lead.Reference(id))
	s.Prints("leads follow-up " + id + " none")
	actions := map[string]int{}
	entries, err := s.App.Data.Store.AuditEntries(t.Context(), store.AuditFilter{Limit: 100})
	must(t, err)
	for _, e := range entries {
		actions[e.Action]++
	}
	if actions["FOLLOW_UP"] != 7 || actions["ANSWERED"] != 1 { // and none without a change
		t.Errorf("the audit has %v", actions)
	}
}
