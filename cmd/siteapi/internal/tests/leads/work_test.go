package leads

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// Operators give leads to each other, change their status, write notes, and find leads by
// all of it, on both databases.
func TestWork(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s, b := newOperatedSite(t, "DATABASE_URL="+database, "CMS_FILE="+withoutPrices(t))
		testWork(t, s, b)
	})
}

// withoutPrices returns the path of content without rules for prices, so that the range that
// is sent stands.
func withoutPrices(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "content.json")
	if err := os.WriteFile(path, []byte(`[{"_id":"h","_type":"heroSection","language":"en"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func testWork(t *testing.T, s *apptest.Site, b *apptest.Browser) {
	var ids []string
	for i, session := range []string{"zero", "one", "two", "three", "four", "five"} {
		in := apptest.NewLead(session)
		in["estimate"] = object{"min": 1000 * (i % 3), "max": 9000, "currency": []string{"EUR", "RON"}[i%2]}
		in["attribution"] = object{
			"source":   []string{"ads", "newsletter"}[i/4],
			"campaign": []string{"spring", "autumn"}[i%2],
		}
		in["consents"] = []object{{"purpose": "marketing", "given": i == 2}}
		if i == 5 {
			in["website"] = "https://spam.example"
		}
		_, answer := s.Post("/api/quote/submit", in)
		ids = append(ids, answer["submissionId"].(string))
	}
	for _, id := range ids[:5] {
		s.Arrives(id)
	}

	change := func(mutation string) *schema.Lead {
		t.Helper()
		data, code := b.Asks(`mutation { changed: ` + mutation + ` { id owner status notes { author at text } } }`)
		if code != "" {
			t.Fatalf("%s: %s", mutation, code)
		}
		return data.Changed
	}
	for i, id := range ids[:4] {
		l := change(`assignLead(id: "` + lead.Reference(id) + fmt.Sprintf(`", owner: "Ana%d@Example.com")`, i/2))
		if l.ID != id || schema.ValueOr(l.Owner, "") != fmt.Sprintf("ana%d@example.com", i/2) {
			t.Errorf("%+v", l)
		}
	}
	if l := change(`assignLead(id: "` + ids[3] + `")`); l.Owner != nil {
		t.Errorf("it has an owner: %s", *l.Owner)
	}
	if l := change(`setLeadStatus(id: "` + ids[1] + `", status: WAITING)`); l.Status != lead.StatusWaiting {
		t.Error(l.Status)
	}
	change(`addLeadNote(id: "` + ids[1] + `", text: "  called,\r\nno answer  ")`)
	l := change(`addLeadNote(id: "` + ids[1] + `", text: "=wants it by May")`)
	if len(l.Notes) != 2 || l.Notes[0].Text != "called,\nno answer" || l.Notes[0].Author != "token" {
		t.Errorf("%+v", l.Notes)
	}

	for mutation, want := range map[string]string{
		`assignLead(id: "nosuch12", owner: "ana@example.com")`:                         "NOT_FOUND",
		`assignLead(id: "` + ids[0] + `", owner: "ana")`:                               "BAD_USER_INPUT",
		`setLeadStatus(id: "nosuch12", status: CLOSED)`:                                "NOT_FOUND",
		`addLeadNote(id: "nosuch12", text: "a")`:                                       "NOT_FOUND",
		`addLeadNote(id: "` + ids[0] + `", text: " \u200b ")`:                          "BAD_USER_INPUT",
		`addLeadNote(id: "` + ids[0] + `", text: "` + strings.Repeat("ș", 2001) + `")`: "BAD_USER_INPUT",
	} {
		if _, code := b.Asks(`mutation { changed: ` + mutation + ` { id } }`); code != want {
			t.Errorf("%.60s: %q, want %s", mutation, code, want)
		}
	}

	finds(t, b, ids)

	// An export has columns of the work, for one address as for all.
	out, _ := s.Run("leads", "export", "--email", "one@example.com")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	at := slices.Index(rows[0], "owner")
	if at < 0 || !slices.Equal(rows[0][at:at+3], []string{"owner", "status", "notes"}) {
		t.Fatal(rows[0])
	}
	cells := rows[1][at:]
	if cells[0] != "ana0@example.com" || cells[1] != "waiting" ||
		!strings.HasSuffix(cells[2], " token: =wants it by May") || !strings.Contains(cells[2], "token: called,\nno answer") {
		t.Errorf("%q", cells)
	}
	s.Says(
		apptest.Said{Args: "leads list --status waiting --owner ANA0@example.com", Want: []string{lead.Reference(ids[1]), "WAITING"}},
		apptest.Said{Args: "leads show " + ids[1], Want: []string{"no answer"}},
		apptest.Said{Args: "leads list --owner none --state in-review", Want: []string{lead.Reference(ids[5])}},
	)

	var acts []string
	entries, list := b.Audited()
	for i, e := range entries {
		if strings.HasSuffix(e, ids[1]) {
			acts = append(acts, strings.Fields(e)[1])
		}
		if strings.Contains(list[i].Detail, "@") || strings.Contains(list[i].Detail, "called") {
			t.Errorf("the audit holds more than ids: %s", list[i].Detail)
		}
	}
	if !slices.Equal(acts, []string{"OPENED", "ASSIGNED", "STATUS", "NOTE", "NOTE", "OPENED"}) {
		t.Errorf("the audit has %v", acts)
	}
	for _, personal := range []string{"ana0@example.com", "no answer", "wants it"} {
		if strings.Contains(s.Log.String(), personal) {
			t.Errorf("%q is in the log", personal)
		}
	}

	changesSeveral(t, s, b)
	s.Run("leads", "erase", "--email", "one@example.com", "--yes", "--server", s.Base)
	if out, _ := s.Run("leads", "export"); strings.Contains(out, "wants it") {
		t.Error("the notes outlive their lead")
	}
}

// finds lists leads with each filter in each order, page by page, and compares the counts.
func finds(t *testing.T, b *apptest.Browser, ids []string) {
	t.Helper()
	list := func(arguments string) (got []int, counts *schema.LeadCounts) {
		t.Helper()
		for after := "null"; after != ""; {
			data, code := b.Asks(`{ leads(first: 2, after: ` + after + `, ` + arguments + `) { edges { node { id } } ` +
				`pageInfo { endCursor hasNextPage } ` +
				`counts { total states { state count } statuses { status count } } } }`)
			if code != "" {
				t.Fatalf("%s: %s", arguments, code)
			}
			for _, e := range data.Leads.Edges {
				got = append(got, slices.Index(ids, e.Node.ID))
			}
			after = ""
			if counts = data.Leads.Counts; data.Leads.PageInfo.HasNextPage {
				after = `"` + *data.Leads.PageInfo.EndCursor + `"`
			}
		}
		return got, counts
	}

	for arguments, want := range map[string][]int{
		`sort: NEWEST`:   {5, 4, 3, 2, 1, 0},
		`sort: OLDEST`:   {0, 1, 2, 3, 4, 5},
		`sort: LARGEST`:  {5, 2, 4, 1, 3, 0},
		`sort: SMALLEST`: {0, 3, 1, 4, 2, 5},
		`owner: ""`:      {5, 4, 3},
		`owner: "ANA0@example.com", sort: OLDEST`: {0, 1},
		`status: WAITING`:                         {1},
		`state: IN_REVIEW`:                        {5},
		`state: DELIVERED, sort: LARGEST`:         {2, 4, 1, 3, 0},
		`source: "newsletter"`:                    {5, 4},
		`campaign: "autumn"`:                      {5, 3, 1},
		`projectType: "web-app", sort: OLDEST`:    {0, 1, 2, 3, 4, 5},
		`projectType: "web"`:                      nil,
		`consent: "marketing"`:                    {2},
		`currency: "RON"`:                         {5, 3, 1},
		`amountFrom: 1000, amountTo: 1000`:        {4, 1},
		`search: "example.com", sort: SMALLEST`:   {0, 3, 1, 4, 2, 5},
		`search: "example.com", status: NEW, state: DELIVERED, currency: "EUR", sort: LARGEST`: {2, 4, 0},
	} {
		got, counts := list(arguments)
		if !slices.Equal(got, want) || counts.Total != len(want) {
			t.Errorf("%s: %v of %d, want %v", arguments, got, counts.Total, want)
		}
	}

	_, counts := list(`sort: NEWEST`)
	text, _ := json.Marshal(counts)
	if string(text) != `{"total":6,"states":[{"state":"IN_REVIEW","count":1},{"state":"DELIVERED","count":5}],`+
		`"statuses":[{"status":"NEW","count":5},{"status":"WAITING","count":1}]}` {
		t.Errorf("the counts are %s", text)
	}
}

// changesSeveral changes leads in one request, of which some fail.
func changesSeveral(t *testing.T, s *apptest.Site, b *apptest.Browser) {
	t.Helper()
	several := func(mutation string) string {
		_, answer := b.Send("POST", "/graphql", `{"query":`+strconv.Quote(
			`mutation { sum: `+mutation+` { changed failed { id reason } } }`)+`}`,
			"Authorization: Bearer secret-of-operators")
		var data struct {
			Data struct{ Sum schema.LeadsChange }
		}
		raw, _ := json.Marshal(answer)
		if err := json.Unmarshal(raw, &data); err != nil {
			t.Error(err)
		}
		sum := data.Data.Sum
		text := fmt.Sprint(sum.Changed)
		for _, f := range sum.Failed {
			text += fmt.Sprint(" ", f.ID, ":", f.Reason)
		}
		return text
	}

	var spam []string
	for i := range 4 {
		spam = append(spam, submitSpam(s, fmt.Sprint("several-", i)))
	}
	list := `ids: ["` + strings.Join(spam, `", "`) + `", "nosuch12", "` + spam[0] + `"]`
	rest := strings.Join(spam[1:], ":CONFLICT ") + ":CONFLICT nosuch12:NOT_FOUND"

	for _, step := range []struct{ mutation, want string }{
		{`retryLeads(ids: ["` + spam[0] + `"])`, "0 " + spam[0] + ":NOTHING_TO_RETRY"},
		{`assignLeads(` + list + `, owner: "Paul@example.com")`, "4 nosuch12:NOT_FOUND"},
		{`assignLeads(` + list + `, owner: "paul@example.com")`, "0 nosuch12:NOT_FOUND"},
		{`setLeadStatuses(` + list + `, status: CLOSED)`, "4 nosuch12:NOT_FOUND"},
		{`setLeadStatuses(` + list + `, status: CLOSED)`, "0 nosuch12:NOT_FOUND"},
		{`rejectLeads(ids: ["` + spam[0] + `"], expected: IN_REVIEW)`, "1"},
		{`rejectLeads(ids: ["` + spam[0] + `"])`, "0 " + spam[0] + ":NOT_IN_REVIEW"},
		{`releaseLeads(` + list + `, expected: REJECTED)`, "1 " + rest},
		{`releaseLeads(ids: ["` + spam[0] + `"])`, "0 " + spam[0] + ":NOT_IN_REVIEW"},
	} {
		if got := several(step.mutation); got != step.want {
			t.Errorf("%.60s: %s, want %s", step.mutation, got, step.want)
		}
	}

	// A lead that was delivered meanwhile is not counted, whatever state it was seen in.
	s.Arrives(spam[0])
	got := several(`releaseLeads(ids: ["` + spam[0] + `"], expected: DELIVERED)`)
	if got != "0 "+spam[0]+":NOT_IN_REVIEW" {
		t.Errorf("releasing a delivered lead: %s", got)
	}

	_, code := b.Asks(`mutation { retryLeads(ids: [` + strings.Repeat(`"x",`, 501) + `]) { changed } }`)
	if code != "BAD_USER_INPUT" {
		t.Errorf("501 leads: %q", code)
	}

	again := apptest.NewLead("again")
	again["contact"].(object)["email"] = "one@example.com"
	_, answer := s.Post("/api/quote/submit", again)
	s.Arrives(answer["submissionId"].(string))
	_, answer = b.Send("POST", "/graphql", `{"query":"{ lead(id: \"`+answer["submissionId"].(string)+
		`\") { sameAddress { notes { text } contact { email } } } }"}`, "Authorization: Bearer secret-of-operators")
	if text := fmt.Sprint(answer["data"]); strings.Count(text, "one@example.com") != 1 ||
		!strings.Contains(text, "wants it by May") {
		t.Errorf("other leads of the address: %v", answer)
	}
}
