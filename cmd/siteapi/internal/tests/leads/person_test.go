package leads

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/exec"
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
	if data.Erased.Complete || p.State != "FAILED" || !strings.Contains(schema.ValueOr(p.Detail, ""), "again in three minutes") {
		t.Errorf("the receipt has for deliveries: %+v", p)
	}
}

// Everything that is stored about a person is shown: leads, consents that outlived their leads,
// and sessions. Such a consent can be withdrawn, once, and erased.
func TestPerson(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "LEAD_RETENTION=2d", apptest.Quick)
	submitAt(s, t, "hers", 49*time.Hour,
		lead.Consent{Purpose: "news", Given: true, Text: "Send me news"},
		lead.Consent{Purpose: "offers", Given: true},
		lead.Consent{Purpose: "calls", Text: "Call me"})
	// The run of the start may already delete it.
	apptest.Eventually(t, "it arrives", func() bool { return ended(s, "hers") || !has(s, t, "hers") })
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

	var person schema.Person
	apptest.ReadJSON(t, s.Prints("leads person HERS@example.com --json").Out, &person)
	if len(person.Leads) != 1 || len(person.Consents) != 2 || len(person.Sessions) != 2 {
		t.Fatalf("the person has %+v", person)
	}
	l, news, offers := person.Leads[0], person.Consents[0], person.Consents[1]
	if *l.SessionID != "later" || l.Contact.FirstName != "Ana" || len(l.Consents) != 1 || l.Consents[0].Text != "Call\nme" ||
		len(l.Price.Lines) != 4 || l.Price.Lines[0].Amount != 12000 {
		t.Errorf("the lead is %+v", l)
	}
	if *news.Locale != "ro" || news.Consent.Purpose != "news" || news.Consent.Text != "Send me news" || !news.Consent.Given ||
		news.Consent.SiteWording || offers.Consent.Purpose != "offers" {
		t.Errorf("the consents are %+v and %+v", news, offers)
	}
	typed, later := person.Sessions[0], person.Sessions[1]
	if typed.ID != "typed" || *typed.Email != "Hers@example.com" || *typed.FirstName != "Ana" || *typed.Locale != "es" ||
		typed.Selections.ProjectType != "shop" || *typed.Min != 10 || typed.Max != nil || typed.Attribution.Source != "ads" ||
		typed.Count != 1 || typed.FirstSeen.IsZero() || !typed.FirstSeen.Equal(typed.LastSeen) || typed.Consent.Text != "Keep it" {
		t.Errorf("the session is %+v", typed)
	}
	if later.ID != "later" || later.Email != nil || later.FirstName != nil || later.Consent != nil {
		t.Errorf("the session of her lead is %+v", later) // another person typed there
	}

	entries, err := s.App.Data.Store.AuditEntries(t.Context(), store.AuditFilter{Limit: 1})
	if err != nil || len(entries) != 1 || entries[0].Action != "LISTED" ||
		entries[0].Detail != `{"consents":2,"count":1,"searched":true,"sessions":2}` {
		t.Errorf("%v: the audit has %+v", err, entries)
	}

	for _, want := range []string{"leads 0 deletedLeads 1 sessions 0", ""} {
		out, err := s.Command("leads", "withdraw", "HERS@example.com", "--purpose", "news")
		if got := strings.Join(strings.Fields(out), " "); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("withdrawing: %v %s, want %q", err, got, want)
		}
	}

	var receipt apptest.Receipt
	apptest.ReadJSON(t, s.Prints("leads erase --json --yes --email hers@example.com --server "+s.Base).Out, &receipt)
	receipt.Counts(t, "consents", 2, 2, "ERASED")
}

// `leads person` shows of each lead what `leads show` does, which is every field that visitors,
// operators and the service set. The fields left out are about other leads, or in the audit.
func TestPersonShowsWholeLeads(t *testing.T) {
	t.Parallel()
	const owner, email = "maria@example.com", "every@example.com"
	s := apptest.Start(t, "VISITOR_MAIL=off", "ADMIN_TOKENS="+apptest.Owners(owner))
	l := leadtest.Filled()
	l.ID, l.Contact.Email, l.Estimate.Currency = "every-field", email, "EUR"
	l.InReview, l.Rejected, l.Texts = false, false, ""
	_, _, err := s.App.Data.Store.Submit(t.Context(), store.NewLead{Lead: *l, ContentKey: l.ID})
	must(t, err)
	for _, command := range []string{"assign every-field " + owner, "outcome every-field won --amount 2 --currency EUR", "note every-field Called", "follow-up every-field 9999-12-31"} {
		s.Prints("leads " + command)
	}
	s.Query(`mutation { requestQuoteDeletion(id: "every-field") { changed } }`, nil)
	s.Prints("leads decline-deletion every-field --reason Kept")
	apptest.Eventually(t, "all deliveries end, those of later events as well", func() bool {
		shown := s.Prints("leads show --json every-field").Out
		return !strings.Contains(shown, `"PENDING"`) && !strings.Contains(shown, `"RUNNING"`) && !strings.Contains(shown, `"RETRYING"`)
	})
	_, err = openDatabase(t, "", s.DataDir).ExecContext(t.Context(), `UPDATE deliveries
SET records = '{"contact": {"id": "1", "url": "https://crm.test/1"}, "deal": {"id": "2", "url": "https://crm.test/2"}}' WHERE target = 'crm'`)
	must(t, err)

	var shown map[string]any
	var person struct{ Leads []map[string]any }
	apptest.ReadJSON(t, s.Prints("leads show --json every-field").Out, &shown)
	apptest.ReadJSON(t, s.Prints("leads person --json "+email).Out, &person)
	if len(person.Leads) != 1 || !reflect.DeepEqual(person.Leads[0], shown) {
		t.Errorf("leads show has %+v, leads person %+v", shown, person.Leads)
	}
	for _, field := range exec.AST().Types["Lead"].Fields {
		if slices.Contains([]string{"sameAddress", "sameSession", "audit"}, field.Name) {
			continue
		}
		if value := reflect.ValueOf(shown[field.Name]); !value.IsValid() || value.Kind() != reflect.Bool && value.IsZero() ||
			value.Kind() == reflect.Slice && value.Len() == 0 {
			t.Errorf("leads show lacks %s of the lead: %v", field.Name, shown[field.Name])
		}
	}
}
