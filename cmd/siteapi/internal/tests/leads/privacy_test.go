package leads

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/store/sqlite"
)

// personal classifies the columns that hold a visitor's data: by words of their row in the
// manual's table of privacy. A column "derived from" another one holds no data of its own.
var personal = map[string]string{
	"leads.body":              "Leads: name, e-mail",
	"leads.mailbox":           "derived from leads.body",
	"leads.session_id":        "Choices and origin of a session",
	"leads.last_source":       "derived from leads.body",
	"leads.last_campaign":     "derived from leads.body",
	"leads.first_source":      "derived from leads.body",
	"leads.first_campaign":    "derived from leads.body",
	"leads.owner":             "Operators' work on a lead",
	"leads.lost_note":         "Operators' work on a lead",
	"search_terms.term":       "derived from leads.body",
	"lead_notes.text":         "Operators' work on a lead",
	"lead_notes.author":       "Names of operators",
	"deliveries.recipient":    "corrected by an operator",
	"deliveries.mailbox":      "derived from deliveries.recipient",
	"deliveries.reason":       "the reason of a dismissal",
	"consents.text":           "Given consents",
	"consents.address":        "derived from leads.body",
	"visitor_mails.address":   "derived from leads.body",
	"visitor_mails.network":   "Keyed hashes of addresses and networks",
	"sessions.id":             "Choices and origin of a session",
	"sessions.hints":          "Contact fields typed before submitting",
	"sessions.mailbox":        "derived from sessions.hints",
	"sessions.selections":     "Choices and origin of a session",
	"sessions.estimate":       "Choices and origin of a session",
	"sessions.first_touch":    "Choices and origin of a session",
	"sessions.first_source":   "derived from sessions.first_touch",
	"sessions.first_campaign": "derived from sessions.first_touch",
	"sessions.last_touch":     "Choices and origin of a session",
	"sessions.last_source":    "derived from sessions.last_touch",
	"sessions.last_campaign":  "derived from sessions.last_touch",
	"logins.email":            "Logins of operators",
	"logins.subject":          "Logins of operators",
	"operators.name":          "Names of operators",
	"operators.actor":         "Names of operators",
	"audit.actor":             "The audit: actions on leads by operator",
	"audit.detail":            "The audit: actions on leads by operator", // the owner of a lead
	"leads.outcome_by":        "Names of operators",
	"leads.deletion_reason":   "The request for deletion",
	"announced_leads.address": "Which leads the lead webhook may have got",
}

// impersonal lists the text columns without data of a person: ids, states, times, keys and JSON of the
// service's own words.
var impersonal = strings.Fields(`
leads.id leads.content_key leads.locale leads.project_type leads.currency leads.status leads.outcome leads.lost_reason leads.won_currency leads.texts
idempotency_keys.key idempotency_keys.lead_id search_terms.lead_id lead_notes.lead_id lead_changes.lead
deliveries.lead_id deliveries.target deliveries.event deliveries.detail deliveries.state deliveries.code deliveries.paused deliveries.errors deliveries.arrived deliveries.handed_over deliveries.records
announced_leads.lead_id consents.lead_id consents.purpose consents.locale visitor_mails.lead_id sessions.locale
hash_key.key revisions.revision revisions.kind revisions.locale revisions.body
logins.hash logins.role logins.secrets logins.client logins.grant_state authorizations.hash authorizations.request
audit.action audit.lead audit.hash audit_head.hash
service_notes.name service_notes.text edge_receivers.name store_migrations.name store_migrations.checksum`)

// typed has what the person of the test leaves, by a column that holds it.
var typed = map[string]string{
	"leads.body":            "Ștefania Țurcanu-Marker",
	"lead_notes.text":       "note-marker",
	"deliveries.recipient":  "Corrected.Marker@Example.org",
	"deliveries.reason":     "reason-marker",
	"consents.text":         "wording-marker",
	"sessions.hints":        "hint-marker",
	"sessions.last_touch":   "touch-marker",
	"leads.last_source":     "source-marker",
	"leads.owner":           "owner-marker@example.com",
	"leads.session_id":      "session-marker",
	"leads.deletion_reason": "refusal-marker",
	"leads.lost_note":       "loss-marker",
}

// Every text column of the database is classified. What holds a person's data is in the manual,
// on the page of the person, and gone after an erasure, by any spelling of the corrected address.
// The typed one may be somebody else's.
func TestEveryColumnWithDataOfAPerson(t *testing.T) {
	_, table, _ := strings.Cut(apptest.File(t, "cmd/siteapi/OPERATIONS.md"), "## Privacy")
	table, _, _ = strings.Cut(table, "**Retention**")
	for column, words := range personal {
		of, derived := strings.CutPrefix(words, "derived from ")
		if derived && personal[of] == "" || !derived && !strings.Contains(table, words) {
			t.Errorf("the manual's table of privacy lacks %s: %q", column, words)
		}
	}

	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		checkPerson(t, database, "CORRECTED.MARKER@example.org")
	})
}

func checkPerson(t *testing.T, database, address string) {
	server, env := apptest.MailServer(t, smtptest.Options{},
		"DATABASE_URL="+database, "ADMIN_TOKENS="+apptest.Owners("owner-marker@example.com"))
	server.Fail(smtptest.Fault{Step: smtptest.Recipient, Mode: smtptest.Never, To: "typed.marker@example.com", Text: "5.1.1 unknown"})
	s := apptest.Start(t, env...)
	id := leavePerson(t, s)

	db := openDatabase(t, database, s.DataDir)
	values := columnValues(t, db)
	for column := range values {
		if personal[column] == "" && !slices.Contains(impersonal, column) {
			t.Errorf("%s is not classified: may it hold a person's data?", column)
		}
	}
	for _, column := range slices.Concat(slices.Collect(maps.Keys(personal)), impersonal) {
		if _, exists := values[column]; !exists {
			t.Errorf("there is no column %s", column)
		}
	}

	person, _ := s.Command("leads", "person", address, "--json")
	for column, marker := range typed {
		for _, part := range strings.Fields(marker) {
			if !strings.Contains(values[column], part) {
				t.Errorf("%s lacks %q, which the test left: %s", column, part, values[column])
			}
			if !strings.Contains(person, part) {
				t.Errorf("leads person %s lacks %q of %s", address, part, column)
			}
		}
	}

	for _, words := range []string{"corrected.marker", "@example.org", "typed.marker", "țurcanu"} {
		s.Prints("leads list --search "+words, lead.Reference(id))
	}

	s.Prints("leads withdraw " + address + " --purpose marketing")
	s.Prints("leads erase --yes --email " + address + " --server " + s.Base)
	for column, stored := range columnValues(t, db) {
		if strings.Contains("leads.owner operators.name operators.actor audit.actor audit.detail sessions.id", column) ||
			strings.HasPrefix(column, "sessions.") && personal[column] == "Choices and origin of a session" ||
			strings.Contains(personal[column], "derived from sessions.") {
			continue // of operators, or of a session without a person
		}
		if strings.Contains(strings.ToLower(stored), "marker") {
			t.Errorf("after the erasure of %s, %s has %s", address, column, stored)
		}
	}
}

// leavePerson submits a lead and lets operators work on it, so that every column in typed has
// its text, and returns the id of the lead.
func leavePerson(t *testing.T, s *apptest.Service) string {
	t.Helper()
	const origin = `"attribution": {"source": "source-marker", "campaign": "campaign-marker", "term": "touch-marker"}`
	s.Do("POST", "/api/quote/track", `{"sessionId": "session-marker", `+origin+`,
		"formData": {"email": "typed.marker@example.com", "firstName": "hint-marker"},
		"consents": [{"purpose": "save_progress", "given": true, "text": "wording-marker"}]}`)
	id := s.Submit("session-marker", origin, `"message": "message-marker",
		"contact": {"firstName": "Ștefania", "lastName": "Țurcanu-Marker", "email": "typed.marker@example.com", "company": "company-marker"},
		"consents": [{"purpose": "marketing", "given": true, "text": "wording-marker"}]`)

	state := func(target lead.Target) lead.DeliveryState { return s.Deliveries(id)[target].State }
	apptest.Eventually(t, "the mail is refused", func() bool { return state(lead.VisitorMail) == lead.NotSent })
	apptest.Eventually(t, "it is delivered", func() bool { return state(lead.CRM) == lead.Delivered && state(lead.CMS) == lead.Delivered })
	s.Prints("leads note " + id + " note-marker")
	s.Prints("leads outcome " + id + " lost --loss-note loss-marker")
	s.Prints("leads assign " + id + " owner-marker@example.com")
	s.Prints("deliveries resend " + id + " --target visitor-mail --email Corrected.Marker@Example.org")
	apptest.Eventually(t, "the mail arrives", func() bool { return state(lead.VisitorMail) == lead.Delivered })
	s.Query(`mutation { requestQuoteDeletion(id: "`+id+`") { changed } }`, nil)
	s.Prints("leads decline-deletion " + id + " --reason refusal-marker")

	db := openDatabase(t, apptest.Lookup(s.Env)("DATABASE_URL"), s.DataDir) // a reason as of a dismissal
	if _, err := db.ExecContext(t.Context(), "UPDATE deliveries SET state = 'dismissed', reason = 'reason-marker' WHERE target = 'crm'"); err != nil {
		t.Fatal(err)
	}
	return id
}

func openDatabase(t *testing.T, url, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if url == "" {
		db, err = sqlite.OpenDB(t.Context(), dir+"/"+systems.DatabaseFile)
	}
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// columnValues returns the values in each text column of the service's own tables.
func columnValues(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	columns := strings.Fields(queryTexts(t, db, `SELECT m.name || '.' || c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c
WHERE m.type = 'table' AND upper(c.type) = 'TEXT'`))
	if len(columns) == 0 {
		columns = strings.Fields(queryTexts(t, db, `SELECT table_name || '.' || column_name FROM information_schema.columns
WHERE table_schema = 'public' AND data_type IN ('text', 'json', 'jsonb', 'character varying')`))
	}

	values := map[string]string{}
	for _, column := range columns {
		table, name, _ := strings.Cut(column, ".")
		if !strings.HasPrefix(table, "river") && !strings.HasPrefix(table, "sqlite") {
			values[column] = cmp.Or(queryTexts(t, db, fmt.Sprintf("SELECT %s FROM %s", name, table)), "")
		}
	}
	return values
}

// queryTexts returns the rows of a query with one column, or nothing if the database does not
// know its tables.
func queryTexts(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		return ""
	}
	defer func() { _ = rows.Close() }()
	var texts []string
	for rows.Next() {
		var text sql.NullString
		must(t, rows.Scan(&text))
		texts = append(texts, text.String)
	}
	must(t, rows.Err())
	return strings.Join(texts, "\n")
}
