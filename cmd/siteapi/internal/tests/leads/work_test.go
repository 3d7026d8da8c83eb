package leads

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// withoutPrices returns the path of content without price rules, so that leads keep the
// range that was sent.
func withoutPrices(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "content.json")
	must(t, os.WriteFile(path, []byte(`[{"_id":"h","_type":"heroSection","language":"en"}]`), 0o600))
	return path
}

// Operators assign leads, change their status and write notes. They filter and sort leads
// by owner, status and other fields.
func TestWork(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s, b := newOperatedSite(t, "DATABASE_URL="+database, "CMS_FILE="+withoutPrices(t),
			"ADMIN_TOKENS="+apptest.Owners("ana@example.com"))
		var ids []string
		for i, session := range []string{"zero", "one", "two", "three"} {
			change := fmt.Sprintf(`"estimate": {"min": %d, "max": 9000, "currency": %q}, "attribution": {"source": %q, "campaign": %q},
				"consents": [{"purpose": "marketing", "given": %t}]`, 1000*(i%3), []string{"EUR", "RON"}[i%2],
				[]string{"ads", "newsletter"}[i/2], []string{"spring", "autumn"}[i%2], i == 2)
			if i == 3 {
				change += `, "website": "https://spam.example"`
			}
			ids = append(ids, s.Submit(session, change))
		}
		for _, id := range ids[:3] {
			s.Arrives(id)
		}

		one := `(leads: ["` + lead.Reference(ids[1]) + `"], `
		note := `addLeadNote(lead: "` + lead.Reference(ids[1]) + `", text: "`
		for _, step := range []struct{ mutation, want string }{
			{`assignLeads` + one + `owner: "Ana@Example.com") { leads`, "ana@example.com NEW []"},
			{`setLeadStatuses` + one + `status: WAITING) { leads`, "ana@example.com WAITING []"},
			{note + `  called,\r\nno answer  ") { lead`, "ana@example.com WAITING [token: called,\nno answer]"},
			{`assignLeads(leads: ["` + ids[2] + `"], owner: "ana@example.com") { leads`, "ana@example.com NEW []"},
			{`assignLeads(leads: ["` + ids[2] + `"]) { leads`, " NEW []"},
			{`assignLeads` + one + `owner: "ana") { leads`, "BAD_USER_INPUT"},
			{note + ` \u200b ") { lead`, "BAD_USER_INPUT"},
			{note + strings.Repeat("ș", 2001) + `") { lead`, "BAD_USER_INPUT"},
		} {
			data, got := b.Asks(`mutation { changed: ` + step.mutation + ` { owner status notes { author text } } } }`)
			for _, l := range append(data.Changed.Leads, data.Changed.Lead) {
				if l == nil {
					continue
				}
				notes := []string{}
				for _, n := range l.Notes {
					notes = append(notes, n.Author+": "+n.Text)
				}
				got = fmt.Sprint(schema.ValueOr(l.Owner, ""), " ", l.Status, " ", notes)
			}
			if got != step.want {
				t.Errorf("%.60s: %q, want %q", step.mutation, got, step.want)
			}
		}

		for arguments, want := range map[string][]int{
			`}, sort: OLDEST #`:                    {0, 1, 2, 3},
			`}, sort: LARGEST #`:                   {2, 1, 3, 0},
			`}, sort: SMALLEST #`:                  {0, 3, 1, 2},
			`owner: ""`:                            {3, 2, 0},
			`owner: "ANA@example.com"`:             {1},
			`status: WAITING`:                      {1},
			`state: IN_REVIEW`:                     {3},
			`state: DELIVERED}, sort: LARGEST #`:   {2, 1, 0},
			`source: "newsletter"`:                 {3, 2},
			`campaign: "autumn"`:                   {3, 1},
			`projectType: "web-app"`:               {3, 2, 1, 0},
			`consent: "marketing"`:                 {2},
			`currency: "RON"`:                      {3, 1},
			`amountFrom: 1000, amountTo: 1000`:     {1},
			`email: "TWO@example.com", locale: ro`: {2},
			`search: "example.com", status: NEW, state: DELIVERED, currency: "EUR"`: {2, 0},
		} {
			data, code := b.Asks(`{ leads(filter: {` + arguments + "}\n" + `) { edges { node { id } } counts { total } } }`)
			var got []int
			for _, e := range data.Leads.Edges {
				got = append(got, slices.Index(ids, e.Node.ID))
			}
			if code != "" || !slices.Equal(got, want) || data.Leads.Counts.Total != len(want) {
				t.Errorf("%s: %s %v, want %v", arguments, code, got, want)
			}
		}
		if _, code := b.Asks(`{ leads(filter: {projectType: "web"}) { counts { total } } }`); code != "BAD_USER_INPUT" { // no lead has it
			t.Errorf("a part of a project type: %q", code)
		}
		data, _ := b.Asks(`{ leads { counts { total states { state count } statuses { status count } } } }`)
		if text, _ := json.Marshal(data.Leads.Counts); string(text) != `{"total":4,"states":[{"state":"IN_REVIEW","count":1},`+
			`{"state":"DELIVERED","count":3}],"statuses":[{"status":"NEW","count":3},{"status":"WAITING","count":1}],"deletionRequests":0,"due":0}` {
			t.Errorf("the counts are %s", text)
		}

		want := []string{`ASSIGNED {"owner":"ana@example.com"}`, "OPENED {}", `STATUS {"status":"WAITING"}`, "NOTE {}"}
		var acts []string
		for _, e := range s.AuditEntries() {
			if strings.Contains(e, ids[1]) {
				acts = append(acts, strings.Replace(e, ids[1]+" ", "", 1))
			}
		}
		if !slices.Equal(acts, want) {
			t.Errorf("the audit has %q, want %q", acts, want)
		}
	})
}

// Several leads are changed in one request. Those that could not be changed are listed
// with the reason.
func TestWorkOnSeveral(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t, "ADMIN_TOKENS="+apptest.Owners("paul@example.com"))
	var spam []string
	for i := range 3 {
		spam = append(spam, submitSpam(s, fmt.Sprint("several-", i)))
	}
	ids := append(slices.Clone(spam), "nosuch12", spam[0], lead.Reference(spam[0])) // one of them three times
	list := `leads: ["` + strings.Join(ids, `", "`) + `"]`
	first := `leads: ["` + spam[0] + `"]`

	for _, step := range []struct{ mutation, want string }{
		{`retryLeads(` + first + `)`, "0 NOTHING_TO_RETRY"},
		{`assignLeads(` + list + `, owner: "Paul@example.com")`, "3 NOT_FOUND"},
		{`assignLeads(` + list + `, owner: "paul@example.com")`, "0 NOT_FOUND"},
		{`setLeadStatuses(` + list + `, status: CLOSED)`, "3 NOT_FOUND"},
		{`rejectLeads(` + first + `, expected: IN_REVIEW)`, "1"},
		{`rejectLeads(` + first + `)`, "0 NOT_IN_REVIEW"},
		{`releaseLeads(` + list + `, expected: REJECTED)`, "1 CONFLICT CONFLICT NOT_FOUND"},
		{`releaseLeads(` + first + `)`, "0 NOT_IN_REVIEW"},
		{`rejectLeads(all: true)`, "2"},
	} {
		data, _ := b.Asks(`mutation { changed: ` + step.mutation + ` { changed failed { lead reason } } }`)
		var reasons []string // the schema promises no order
		for _, f := range data.Changed.Failed {
			reasons = append(reasons, " "+string(f.Reason))
		}
		slices.Sort(reasons)
		if got := fmt.Sprint(data.Changed.Changed, strings.Join(reasons, "")); got != step.want {
			t.Errorf("%.60s: %s, want %s", step.mutation, got, step.want)
		}
	}

	_, code := b.Asks(`mutation { retryLeads(leads: [` + strings.Repeat(`"x",`, 501) + `]) { changed } }`)
	if code != "BAD_USER_INPUT" {
		t.Errorf("501 leads: %q", code)
	}
}

// A lead lists the other leads of its address, in any spelling, and the leads of its session
// with another address, in either direction.
func TestOtherLeads(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s := apptest.Start(t, "DATABASE_URL="+database)
		names := map[string]string{}
		submit := func(name, session, email string) string {
			id := s.Submit(session, `"contact": {"email": "`+email+`"}, "message": "`+name+`"`)
			names[id] = name
			return id
		}
		typo, right := submit("typo", "one", "ana@exmaple.com"), submit("right", "one", "ana@example.com")
		again := submit("again", "one", "ANA@example.com")
		other := submit("other", "two", "ana@example.com")

		for id, want := range map[string]string{
			typo: ", again right", right: "again other, typo", again: "other right, typo", other: "again right, ",
		} {
			var lists []string
			for _, field := range []string{"sameAddress", "sameSession"} {
				response := string(s.Response(schema.RoleSales, `{ lead(lead: "`+id+`") { `+field+` { id } } }`))
				var found []string
				for id, name := range names {
					if strings.Contains(response, id) {
						found = append(found, name)
					}
				}
				slices.Sort(found)
				lists = append(lists, strings.Join(found, " "))
			}
			if got := strings.Join(lists, ", "); got != want {
				t.Errorf("%s: %q, want %q", names[id], got, want)
			}
		}
	})
}
