package leads

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// An erasure in the inbox waits for a running delivery for half of the 10 s that a
// request may take. Then it reports what to do.
func TestEraseDuringADelivery(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	s.Arrives(s.Submit("one"))
	s.Damage(`UPDATE deliveries SET state = 'retrying', running_until = (SELECT now FROM clock) + 45000`)

	data, code := b.Asks(`mutation { erased: eraseLeads(email: "one@example.com", dryRun: false) {
complete places { place unit state detail } } }`)
	if data.Erased == nil {
		t.Fatal(code)
	}
	p := apptest.Receipt(*data.Erased).At("deliveries")
	if data.Erased.Complete || p.State != "failed" || !strings.Contains(schema.ValueOr(p.Detail, ""), "again in three minutes") {
		t.Errorf("the receipt has for deliveries: %+v", p)
	}
}

// An export by e-mail address contains everything that is stored about a person: leads,
// consents that outlived their leads, and sessions. Such a consent can be withdrawn, once, and
// erased.
func TestExportOfPerson(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "LEAD_RETENTION=2d", apptest.Quick)
	submitAt(s, t, "hers", 49*time.Hour,
		lead.Consent{Purpose: "news", Given: true, Text: "Send me news"},
		lead.Consent{Purpose: "offers", Given: true},
		lead.Consent{Purpose: "calls", Text: "Call me"})
	apptest.Eventually(t, "it arrives", func() bool { return ended(s, "hers") })
	s.Restart()
	apptest.Eventually(t, "it is deleted", func() bool { return !has(s, t, "hers") })

	s.Submit("later", `"contact": {"email": "HERS@example.com"}, "consents": [{"purpose": "calls", "given": false, "text": "Call\nme"}]`)
	s.Submit("theirs")
	for _, v := range []struct{ session, email string }{
		{"typed", "Hers@example.com"},
		{"stranger", "theirs@example.com"},
		{"later", "theirs@example.com"}, // her session, with the address of another person
	} {
		input := object{
			"sessionId":   v.session,
			"locale":      "es",
			"selections":  object{"projectType": "shop"},
			"formData":    object{"email": v.email, "firstName": "Ana"},
			"estimate":    object{"min": 10},
			"attribution": object{"source": "ads"},
			"consents":    []any{object{"purpose": "save_progress", "given": true, "text": "Keep it"}},
		}
		if got := s.TrackThrough("REST", input); got.Data["success"] != true {
			t.Fatal(got)
		}
	}

	args := []string{"leads", "export", "--email", " hers@Example.com "}
	out, err := s.Command(args...)
	rows, csvErr := csv.NewReader(strings.NewReader(strings.TrimPrefix(out, "\ufeff"))).ReadAll()
	if err != nil || csvErr != nil || len(rows) != 6 {
		t.Fatalf("%v %v %s", err, csvErr, out)
	}
	for i, want := range []map[string]string{
		{
			"record": "lead", "session_id": "later", "consents": "calls: not given", "consent_texts": "calls: Call\nme", "visits": "",
			"price_lines": "projectType web-app: 12000;features blog: 600;complexity medium: 2000;timeline 3-months: 500",
		},
		{
			"record": "consent", "email": "hers@example.com", "locale": "ro", "lead_id": "", "session_id": "", "state": "",
			"consents": "news: given, not to the site's wording", "consent_texts": "news: Send me news",
		},
		{"record": "consent", "consents": "offers: given, not to the site's wording"},
		{
			"record": "session", "session_id": "typed", "email": "Hers@example.com", "first_name": "Ana", "locale": "es", "project_type": "shop",
			"estimate_min": "10", "estimate_max": "", "source": "ads", "visits": "1", "submitted_at": "", "pdf": "", "state": "",
			"consents": "save_progress: given", "consent_texts": "save_progress: Keep it",
		},
		{"record": "session", "session_id": "later", "email": "", "first_name": "", "project_type": "shop", "consents": ""},
	} {
		for name, cell := range want {
			if got := cellOf(rows, i+1, name); got != cell {
				t.Errorf("row %d: %s is %q, want %q", i+1, name, got, cell)
			}
		}
	}
	if seen := cellOf(rows, 4, "first_seen"); seen == "" || seen != cellOf(rows, 4, "last_seen") {
		t.Errorf("the session was first seen at %q", seen)
	}

	entries, err := s.App.Data.Store.AuditEntries(t.Context(), store.AuditFilter{Limit: 1})
	if err != nil || len(entries) != 1 || entries[0].Action != "EXPORTED" ||
		entries[0].Detail != `{"consents":2,"count":1,"searched":true,"sessions":2}` {
		t.Errorf("%v: the audit has %+v", err, entries)
	}

	var person schema.Person
	apptest.ReadJSON(t, s.Prints("leads person HERS@example.com --json").Out, &person)
	if len(person.Leads) != 1 || person.Leads[0].Contact.FirstName != "Ana" ||
		len(person.Consents) != 2 || person.Consents[0].Consent.Text != "Send me news" ||
		len(person.Sessions) != 2 || *person.Sessions[0].Email != "Hers@example.com" || *person.Sessions[0].Min != 10 {
		t.Errorf("the person has %+v", person)
	}

	for _, want := range []string{"leads 0 deletedLeads 1 sessions 0", ""} {
		out, err := s.Command("leads", "withdraw", "HERS@example.com", "--purpose", "news")
		if got := strings.Join(strings.Fields(out), " "); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("withdrawing: %v %s, want %q", err, got, want)
		}
	}

	var receipt apptest.Receipt
	apptest.ReadJSON(t, s.Prints("leads erase --json --yes --email hers@example.com --server "+s.Base).Out, &receipt)
	receipt.Counts(t, "consents", 2, 2, "erased")
}

// cellOf returns the cell of a row in the named column.
func cellOf(rows [][]string, row int, name string) string {
	for i, column := range rows[0] {
		if column == name {
			return rows[row][i]
		}
	}
	return "no such column"
}
