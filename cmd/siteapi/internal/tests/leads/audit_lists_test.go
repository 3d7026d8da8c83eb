package leads

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/store/sqlite"
	"siteapi/schema"
)

// The audit has an entry for each page of leads or deliveries with contact data, for a
// search that only counts, for a person's data, and for the preview of an erasure. No
// entry contains the search text.
func TestAuditOfLists(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	for _, session := range []string{"one", "two", "three"} {
		s.Arrives(s.Submit(session))
	}

	known := s.AuditEntries() // the entries of the test's own commands
	const leads = `) { edges { node { id contact { email } } } pageInfo { endCursor } } }`
	const deliveries = `) { edges { node { lead { contact { email } } } } pageInfo { endCursor } } }`
	next := ""
	for _, c := range []struct{ operation, want string }{
		{`{ leads(first: 2` + leads, `LISTED  {"count":2}`},
		{`{ leads(first: 2, after: "%s"` + leads, `LISTED  {"count":1}`},
		{`{ leads(filter: {search: "one", state: DELIVERED}` + leads, `LISTED  {"count":1,"searched":true,"state":"DELIVERED"}`},
		{`{ leads(filter: {search: "thr"}) { counts { total } pageInfo { endCursor } } }`, `LISTED  {"count":1,"searched":true}`},
		{`{ leads(filter: {search: " ", locale: en}) { counts { total } pageInfo { endCursor } } }`, ""},
		{
			`{ leads(filter: {results: [OPEN], owner: "", source: "", campaign: " "}, first: 2` + leads,
			`LISTED  {"campaign":"","count":2,"owner":"","results":["OPEN"],"source":""}`,
		},
		{`{ leads(first: 2, export: true) { edges { node { id } } pageInfo { endCursor } } }`, `EXPORTED  {"count":2}`},
		{`{ leads(first: 2, after: "%s", export: true) { edges { node { id } } pageInfo { endCursor } } }`, `EXPORTED  {"count":1}`},
		{`{ deliveries(first: 2` + deliveries, `LISTED  {"count":2,"of":"deliveries"}`},
		{
			`{ person(email: "one@example.com") { leads { id } } }`,
			`LISTED  {"consents":0,"count":1,"searched":true,"sessions":0}`,
		},
		{
			`mutation { eraseLeads(email: "one@example.com", dryRun: true) { left } }`,
			`LISTED  {"count":1,"searched":true}`,
		},
	} {
		data, code := b.Asks(strings.Replace(c.operation, "%s", next, 1))
		if code != "" {
			t.Fatalf("%s: %s", c.operation, code)
		}
		if page := data.Leads.PageInfo; page != nil {
			next = schema.ValueOr(page.EndCursor, "")
		}

		all := s.AuditEntries()
		if got := strings.Join(all[len(known):], ", "); got != c.want {
			t.Errorf("%s: the audit has %q, want %q", c.operation, got, c.want)
		}
		known = all
	}
}

// The audit has an entry for a stream that identifies leads by more than viewers may see. A
// reconnecting page gets the events that it missed, or reloads if its position is not recent.
func TestStreams(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	stream := func(after, fields string) string {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := `{"query":"subscription { leadEvents(after: \"` + after + `\") { ` + fields + ` } }"}`
		resp, err := apptest.Send(ctx, apptest.HTTP, "POST", b.Base+"/graphql", body,
			"Accept: text/event-stream", "Authorization: Bearer secret-of-operators")
		must(t, err)
		defer func() { _ = resp.Body.Close() }()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		}
		if !strings.Contains(lines.Text(), `"leadEvents":{`) {
			t.Errorf("%d %s", resp.StatusCode, lines.Text())
		}
		return lines.Text()
	}

	s.Submit("one")
	at := func(since time.Duration) string { return fmt.Sprint(time.Now().Add(since).UnixMilli()) }
	for after, restarted := range map[string]bool{
		at(-time.Minute): false, at(-2 * time.Hour): true, at(time.Hour): true, "": true, "nonsense": true, "-1": true,
	} {
		event := stream(after, "position restarted changes { reference kind }")
		if strings.Contains(event, `"restarted":true`) != restarted || strings.Contains(event, `"CREATED"`) == restarted {
			t.Errorf("after %q: %s", after, event)
		}
	}
	if got := s.AuditEntries(); len(got) != 0 {
		t.Errorf("a stream without ids: %q", got)
	}
	stream("", "position changes { id reference }")
	if got, want := s.AuditEntries(), []string{`LISTED  {"of":"lead events"}`}; !slices.Equal(got, want) {
		t.Errorf("the audit has %q, want %q", got, want)
	}
}

// A removal by AUDIT_RETENTION is recorded as an entry and logged with the same facts.
func TestOldEntriesOfTheAudit(t *testing.T) {
	t.Parallel()
	s, _ := newOperatedSite(t, "AUDIT_RETENTION=1h")
	s.Submit("one")
	s.Run("leads", "list")
	s.Stop(t)
	s.Damage(`UPDATE audit SET at = at - 7200000`)

	s.Start()
	s.Logs(`"audit anchor"`)
	var list []schema.AuditEntry
	s.JSON(&list, "audit", "list")
	var removed struct {
		Entry           int
		Hash, Retention string
	}
	detail, _ := json.Marshal(list[0].Detail)
	apptest.ReadJSON(t, string(detail), &removed)
	line := regexp.MustCompile(`.*audit anchor.*`).FindString(s.Log.String())
	want := fmt.Sprintf(`"entry":%d,"hash":"%s","at":`, removed.Entry, removed.Hash)
	if len(list) != 1 || list[0].Action != "PRUNED" || !strings.Contains(line, want) ||
		!strings.Contains(line, `"retention":"`+removed.Retention+`"`) {
		t.Errorf("the audit has %+v, the log %s", list, line)
	}
}

// While the database accepts no writes, as on a full disk, leads can still be read. The
// audit entries are logged instead.
func TestReadingWithoutWrites(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	s.Submit("read-only")

	db, err := sqlite.OpenDB(t.Context(), filepath.Join(s.DataDir, systems.DatabaseFile))
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}

	data, code := s.OperateAs(schema.RoleSales, `{ leads(filter: {search: "ana"}) { edges { node { contact { email } } } } }`)
	if code != "" || len(data.Leads.Edges) != 1 {
		t.Errorf("listing leads: %s %+v", code, data.Leads)
	}
	// The subject of the account is an e-mail address, so the log has its hash instead.
	for _, want := range []string{
		`"level":"error"`, `"action":"LISTED"`, `"detail":{"count":1,"searched":true}`,
		`"actor":"oidc:sha256-fb946b17"`,
	} {
		line := regexp.MustCompile(`.*cannot store an audit entry.*`).FindString(s.Log.String())
		if !strings.Contains(line, want) || strings.Contains(line, "@") {
			t.Errorf("the log has %q, want %s", line, want)
		}
	}
}
