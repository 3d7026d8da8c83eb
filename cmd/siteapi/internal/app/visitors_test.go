package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/cmd/siteapi/internal/operator"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
)

// age makes all tracked sessions older, as if the visitors had been silent since.
func (s *service) age(by time.Duration) {
	s.t.Helper()
	query := fmt.Sprintf(`UPDATE sessions SET first_seen = first_seen - %[1]d, last_seen = last_seen - %[1]d,
  counted_at = counted_at - %[1]d, saved_at = CASE saved_at WHEN 0 THEN 0 ELSE saved_at - %[1]d END`, by.Milliseconds())

	s.changeData(query)
}

// changeData runs a statement on the database behind the service's back.
func (s *service) changeData(query string) {
	s.t.Helper()
	if address := s.env["DATABASE_URL"]; address != "" {
		conn, err := pgx.Connect(s.t.Context(), address)
		if err != nil {
			s.t.Fatal(err)
		}
		defer func() { _ = conn.Close(s.t.Context()) }()
		if _, err := conn.Exec(s.t.Context(), query); err != nil {
			s.t.Fatal(err)
		}
		return
	}

	db, err := sqlite.OpenDB(s.t.Context(), filepath.Join(s.dataDir, operator.DatabaseFile))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(s.t.Context(), query); err != nil {
		s.t.Fatal(err)
	}
}

// left returns the e-mail addresses of the visitors who left, and why there are none.
func (s *service) left() (emails []string, none schema.NoVisitorsReason) {
	s.t.Helper()
	data, code := s.operates(schema.RoleSales, `{ visitorsWhoLeft { edges { node { email } } none } }`)
	if code != "" {
		s.t.Error(code)
	}
	for _, e := range data.VisitorsWhoLeft.Edges {
		emails = append(emails, e.Node.Email)
	}
	slices.Sort(emails)
	return emails, schema.ValueOr(data.VisitorsWhoLeft.None, "")
}

// visitorState is a state of the calculator with an e-mail address, and what the visitor
// says to its being kept.
func visitorState(session string, answers ...bool) object {
	consents := []any{}
	for _, given := range answers {
		consents = append(consents, object{"purpose": "save_progress", "given": given, "text": "Keep it."})
	}
	return object{
		"sessionId":   session,
		"selections":  object{"projectType": "web-app", "features": []any{"blog"}},
		"estimate":    object{"min": 100, "max": 200.5, "currency": "EUR"},
		"formData":    object{"email": session + "@example.com", "firstName": "Ana"},
		"attribution": object{"source": "newsletter"},
		"locale":      "ro",
		"consents":    consents,
	}
}

// Visitors are listed half an hour after they left, if they agreed and no lead came. Nothing
// is sent to any other system.
func TestVisitorsWhoLeft(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { return pgserver.Start(t).NewDatabase(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testVisitorsWhoLeft(t, database(t))
		})
	}
}

func testVisitorsWhoLeft(t *testing.T, database string) {
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	mails, env := mailServer(t, smtptest.Options{})
	var told atomic.Pointer[[]byte]
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		told.Store(new(body.Bytes()))
	}))
	t.Cleanup(receiver.Close)
	env["LEAD_WEBHOOK_URL"], env["LEAD_WEBHOOK_FORMAT"] = receiver.URL, "slack"
	env["DATABASE_URL"] = database
	s := startService(t, stubs.env(env), quick)

	var want []string
	bothEndpoints(t, func(t *testing.T, endpoint string) {
		track := func(input object) {
			t.Helper()
			if got := s.through(endpoint, "trackQuote", object{"input": input}); got.data["success"] != true {
				t.Error(got.raw)
			}
		}
		session := strings.ToLower(endpoint)

		track(visitorState(session+"-agrees", true))
		want = append(want, session+"-agrees@example.com")
		track(visitorState(session + "-unasked"))
		track(visitorState(session+"-declines", false))
		track(visitorState(session+"-ticks-twice", true, false))
		track(visitorState(session+"-takes-back", true))
		track(visitorState(session+"-takes-back", false))
		track(visitorState(session+"-says-nothing", true))
		track(visitorState(session + "-says-nothing"))

		track(visitorState(session+"-submits", true))
		s.submits(session + "-submits")
		track(visitorState(session+"-elsewhere", true))
		elsewhere := newLead(session + "-other")
		elsewhere["contact"].(object)["email"] = strings.ToUpper(session) + "-ELSEWHERE@example.com"
		if got := s.through(endpoint, "submitQuote", object{"input": elsewhere}); got.data["success"] != true {
			t.Error(got.raw)
		}
	})
	slices.Sort(want)

	s.age(29 * time.Minute)
	if got, _ := s.left(); len(got) > 0 {
		t.Errorf("within half an hour: %v", got)
	}
	s.age(time.Minute + time.Second)
	if got, none := s.left(); !slices.Equal(got, want) || none != "" {
		t.Errorf("the list has %v (%s), want %v", got, none, want)
	}

	// The list is recorded once, without what it shows: it was opened when nobody had left yet.
	var listed []string
	entries, err := s.app.data.Tables.AuditEntries(t.Context(), store.AuditFilter{Limit: 10})
	for _, e := range entries {
		listed = append(listed, e.Action+" "+e.Detail)
	}
	if err != nil || !slices.Equal(listed, []string{`LISTED {"count":0,"of":"visitors"}`}) {
		t.Errorf("%v: the audit has %q", err, listed)
	}

	// The lead that comes last is told to all other systems: these visitors are not.
	last := s.submits("last")
	eventually(t, "the last lead is delivered", func() bool {
		d := s.deliveries(last)
		return d["cms"].State == "delivered" && d["crm"].State == "delivered" && d["webhook"].State == "delivered" &&
			len(mailsTo(mails, "sales@lumen.test")) == 5
	})
	documents, _ := json.Marshal(stubs.cms.Documents())
	contacts, _ := json.Marshal(stubs.crm.Contacts())
	sent := slices.Concat(documents, contacts, *told.Load())
	for _, m := range mails.Mails() {
		sent = append(append(sent, m.To...), m.Data...)
	}
	if !bytes.Contains(sent, []byte("last@")) || bytes.Contains(bytes.ToLower(sent), []byte("-agrees")) ||
		strings.Contains(s.log.String(), "-agrees@") {
		t.Error("another system, or the log, was told of a visitor who left")
	}
}

// The fields of a visitor are what was tracked, and pages follow each other.
func TestVisitorFields(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	for _, session := range []string{"one", "two"} {
		for range 2 {
			s.through("REST", "trackQuote", object{"input": visitorState(session, true)})
		}
		s.age(time.Hour)
	}

	const page = `{ visitorsWhoLeft(first: 1, after: %s) { edges { node { sessionId email firstName locale consentText
selections { projectType features complexity timeline } estimate { min max currency }
attribution { source } firstAttribution { source } firstSeenAt lastSeenAt tracks } }
pageInfo { hasNextPage endCursor } none } }`
	after := "null"
	for i, session := range []string{"two", "one"} {
		data, code := s.operates(schema.RoleSales, fmt.Sprintf(page, after))
		got := data.VisitorsWhoLeft
		if code != "" || len(got.Edges) != 1 || got.PageInfo.HasNextPage != (i == 0) || got.None != nil {
			t.Fatalf("page %d: %s %+v", i, code, got)
		}
		after = `"` + *got.PageInfo.EndCursor + `"`

		v := got.Edges[0].Node
		if v.SessionID != session || v.Email != session+"@example.com" || *v.FirstName != "Ana" ||
			*v.Locale != schema.LocaleRo || *v.ConsentText != "Keep it." || *v.Selections.ProjectType != "web-app" ||
			!slices.Equal(v.Selections.Features, []string{"blog"}) || v.Selections.Timeline != nil ||
			*v.Estimate != (schema.LeadEstimate{Min: 100, Max: 200.5, Currency: "EUR"}) ||
			*v.Attribution.Source != "newsletter" || *v.FirstAttribution.Source != "newsletter" || v.Tracks != 2 ||
			v.FirstSeenAt.After(v.LastSeenAt) || time.Since(v.LastSeenAt) < time.Hour {
			t.Errorf("page %d: %+v", i, v)
		}
	}
	if data, code := s.operates(schema.RoleSales, fmt.Sprintf(page, after)); code != "" ||
		len(data.VisitorsWhoLeft.Edges) != 0 || data.VisitorsWhoLeft.None != nil {
		t.Errorf("after the last page: %s %+v", code, data.VisitorsWhoLeft)
	}
	if _, code := s.operates(schema.RoleSales, fmt.Sprintf(page, `"nonsense"`)); code != "BAD_USER_INPUT" {
		t.Errorf("a cursor that nobody returned: %q", code)
	}
}

// An empty list says why.
func TestNoVisitorsWhoLeft(t *testing.T) {
	t.Parallel()
	const settings = `{"_id":"siteSettings","_type":"siteSettings"}`
	const wording = `{"_id":"c","_type":"consentText","language":"ro","purpose":"save_progress","text":"Da"}`
	for name, c := range map[string]struct {
		env     map[string]string
		content string
		want    schema.NoVisitorsReason
	}{
		"none yet":   {nil, "[" + wording + "," + settings + "]", schema.NoVisitorsReasonNoneYet},
		"off":        {map[string]string{"TRACK_CONTACT": "off"}, "[" + wording + "," + settings + "]", schema.NoVisitorsReasonNotStored},
		"no wording": {nil, "[" + strings.Replace(wording, "save_progress", "news", 1) + "," + settings + "]", schema.NoVisitorsReasonNotAsked},
		"no type": {
			map[string]string{"CONTENT_TYPES": "heroSection,quoteOption"},
			"[" + wording + "," + settings + "]",
			schema.NoVisitorsReasonNotAsked,
		},
	} {
		s := startService(t, c.env)
		s.writeContent(c.content)
		s.do("POST", "/api/cache/clear?all=true", "", cacheAuth)
		s.through("REST", "trackQuote", object{"input": visitorState("silent")})
		s.age(time.Hour)
		if got, none := s.left(); len(got) != 0 || none != c.want {
			t.Errorf("%s: %v, %s, want %s", name, got, none, c.want)
		}
	}
}

// A visitor is listed no longer after the consent is withdrawn, and after an erasure.
func TestVisitorsWhoLeftAreForgotten(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	agreed := lead.Consent{Purpose: lead.SaveProgress, Given: true}
	s.submitAt(t, "withdraws", 48*time.Hour, agreed)
	for _, session := range []string{"withdraws", "erased"} {
		s.through("REST", "trackQuote", object{"input": visitorState(session, true)})
	}
	s.age(time.Hour)
	if got, _ := s.left(); !slices.Equal(got, []string{"erased@example.com", "withdraws@example.com"}) {
		t.Fatalf("before: %v", got)
	}

	if _, code := s.operates(schema.RoleSales,
		`mutation { withdrawConsent(id: "withdraws", purpose: "save_progress") { state } }`); code != "" {
		t.Error(code)
	}
	if got, _ := s.left(); !slices.Equal(got, []string{"erased@example.com"}) {
		t.Errorf("after the consent was withdrawn: %v", got)
	}
	if _, code := s.operates(schema.RoleAdmin,
		`mutation { eraseLeads(email: "ERASED@example.com", dryRun: false) { complete } }`); code != "" {
		t.Error(code)
	}
	if got, none := s.left(); len(got) != 0 || none != schema.NoVisitorsReasonNoneYet {
		t.Errorf("after the erasure: %v %s", got, none)
	}
}
