package app

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/operator"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
)

// audited returns the entries of the audit, the oldest first, each as "actor action lead".
func (b *browser) audited() (entries []string, list []schema.AuditEntry) {
	b.t.Helper()
	_, answer := b.send("POST", "/graphql",
		`{"query":"{ audit(first: 500) { edges { node { at actor action lead detail hash } } } }"}`,
		"Authorization: Bearer secret-of-operators")

	var data struct {
		Data struct{ Audit schema.AuditConnection }
	}
	raw, _ := json.Marshal(answer)
	if err := json.Unmarshal(raw, &data); err != nil {
		b.t.Fatal(err)
	}
	for _, e := range data.Data.Audit.Edges {
		entries = append(entries, fmt.Sprint(e.Node.Actor, " ", e.Node.Action, " ", schema.ValueOr(e.Node.Lead, "-")))
		list = append(list, *e.Node)
	}
	slices.Reverse(entries)
	slices.Reverse(list)
	return entries, list
}

// What operators do through the schema and with commands is stored, without contact data.
func TestAudit(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)

	bot := newLead("bot")
	bot["website"] = "https://spam.example"
	_, answer := s.post("/api/quote/submit", bot)
	spam, _ := answer["submissionId"].(string)
	id := s.submit("one")
	s.arrives(id)
	shown := s.submit("shown")

	for _, operation := range []string{
		`{ leads { edges { node { state } } } }`, // no contact data, no entry
		`{ leads(search: \"one@example.com\", locale: ro) { edges { node { contact { email } } } } }`,
		`{ leads { csv edges { cursor } } }`,
		`{ lead(id: \"` + id + `\") { contact { email } } }`,
		`{ lead(id: \"` + id + `\") { contact { email } } }`,                    // again at once
		`mutation { releaseLead(id: \"` + shown + `\") { contact { email } } }`, // changes nothing
		`mutation { rejectLead(id: \"` + spam + `\") { state } }`,
		`mutation { rejectLead(id: \"nosuch12\") { state } }`,
		`mutation { withdrawConsent(id: \"` + id + `\", purpose: \"news\") { state } }`, // was never given
		`mutation { releaseLead(id: \"` + spam + `\") { state } }`,
		`mutation { resendLead(id: \"` + id + `\", target: CRM) { state } }`,
	} {
		b.send("POST", "/graphql", `{"query":"`+operation+`"}`, "Authorization: Bearer secret-of-operators")
	}

	s.arrives(spam)
	s.run("leads", "list", "--search", "one@example.com")
	s.run("leads", "show", id)
	s.run("leads", "export")
	s.run("leads", "withdraw", "one@example.com", "--purpose", "news") // was never given
	s.run("leads", "erase", "--email", "one@example.com", "--yes", "--server", s.base)
	b.send("POST", "/graphql", `{"query":"mutation { eraseLeads(email: \"nobody@example.com\", dryRun: false) { complete } }"}`,
		"Authorization: Bearer secret-of-operators")

	// The test itself lists deliveries, to see what has arrived.
	got, list := b.audited()
	for i := len(list) - 1; i >= 0; i-- {
		if strings.Contains(list[i].Detail, `"of":"deliveries"`) {
			got = slices.Delete(got, i, i+1)
		}
	}
	command := "command:"
	for _, e := range list {
		if strings.HasPrefix(e.Actor, command) {
			command = e.Actor
		}
		if strings.Contains(e.Detail, "one") || strings.Contains(e.Detail, "@") {
			t.Errorf("what was searched for is in the audit: %s", e.Detail)
		}
	}
	want := []string{
		"token LISTED -",
		"token EXPORTED -",
		"token OPENED " + id,
		"token OPENED " + shown,
		"token REJECTED " + spam,
		"token RELEASED " + spam,
		"token RESENT " + id,
		command + " LISTED -",
		command + " OPENED " + id,
		command + " EXPORTED -",
		command + " ERASED " + id,
		"token ERASED -",
	}
	if !slices.Equal(got, want) || len(command) < len("command:x") {
		t.Fatalf("the audit is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.ContainsFunc(list, func(e schema.AuditEntry) bool {
		return e.Detail == `{"count":1,"locale":"ro","searched":true}`
	}) {
		t.Error("no entry has the filter of the list")
	}

	// The log has the head that the chain had at the start, and a copy of it is verified.
	eventually(t, "the head is in the log", func() bool { return strings.Contains(s.log.String(), "audit head") })
	s.says(
		said{args: "audit verify", want: []string{list[len(list)-1].Hash}},
		said{args: "audit verify --head " + list[3].Hash, want: []string{fmt.Sprintf("%-26s %d", "entries", len(list))}},
	)
	s.damage(`DELETE FROM audit WHERE seq = 5`)
	if out, code := s.run("audit", "verify"); code != 2 || !strings.Contains(out, "entry 5 is missing") {
		t.Errorf("%d %s", code, out)
	}
}

// auditHead verifies the audit, and returns the hash of its last entry.
func (s *site) auditHead() string {
	s.t.Helper()
	out, code := s.run("audit", "verify")
	_, head, found := strings.Cut(out, "head ")
	head, _, _ = strings.Cut(strings.TrimSpace(head), "\n")
	if code != 0 || !found {
		s.t.Fatalf("%d %s", code, out)
	}
	return head
}

// hasAudit checks that the audit is whole, and still has the entry with a hash.
func (s *site) hasAudit(head string) {
	s.t.Helper()
	if out, code := s.run("audit", "verify", "--head", head); code != 0 {
		s.t.Errorf("%d %s", code, out)
	}
}

// A backup, its restore and a move to PostgreSQL carry the audit, which goes on from there.
func TestAuditTravels(t *testing.T) {
	t.Parallel()
	s := newSite(t).start()
	id := s.submit("one")
	s.run("leads", "show", id)
	s.run("leads", "export")
	head := s.auditHead()

	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	s.says(said{args: "backup --output " + file, want: []string{"1 submissions"}})
	restored := newSite(t)
	restored.says(said{args: "restore --from " + file, want: []string{"restored"}})
	restored.hasAudit(head)
	restored.run("leads", "list")
	restored.hasAudit(head)
	if restored.auditHead() == head {
		t.Error("nothing is recorded after a restore")
	}

	s.stop(t)
	moved := &site{t: t, dir: s.dir, env: append(s.env, "DATABASE_URL="+pgserver.Start(t).NewDatabase(t))}
	moved.says(said{args: "store copy", want: []string{"notes: 0 rows"}})
	moved.hasAudit(head)
	moved.run("leads", "show", id)
	moved.hasAudit(head)
}

// Commands that read deliveries or leads, or try deliveries again, leave an entry with the lead.
func TestAuditOfCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t, "MAIL_FROM=hello@example.com").start()
	id := s.submit("one")
	s.arrives(id)

	var list []schema.Delivery
	s.json(&list, "deliveries", "list", "--state", "all", "--target", "crm")
	if len(list) != 1 {
		t.Fatalf("the deliveries: %+v", list)
	}
	s.run("deliveries", "retry", fmt.Sprint(list[0].ID))
	s.run("deliveries", "retry", "999999")
	s.run("mail", "preview", "--lead", id)

	want := []string{
		`LISTED  {"count":1,"of":"deliveries"}`,
		`RETRIED ` + id + ` {"target":"CRM"}`,
		`OPENED ` + id + ` {}`,
	}
	got := slices.DeleteFunc(s.recorded(), func(entry string) bool {
		return entry == `LISTED  {"count":4,"of":"deliveries"}` // of the test itself
	})
	if !slices.Equal(got, want) {
		t.Errorf("the audit is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// recorded returns the entries of the audit in SQLite, each as "action lead detail".
func (s *site) recorded() (entries []string) {
	s.t.Helper()
	db, err := sqlite.OpenDB(s.t.Context(), filepath.Join(s.dir, operator.DatabaseFile))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()

	rows, err := db.QueryContext(s.t.Context(), `SELECT action, lead, detail FROM audit ORDER BY seq`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var action, lead, detail string
		if err := rows.Scan(&action, &lead, &detail); err != nil {
			s.t.Fatal(err)
		}
		entries = append(entries, action+" "+lead+" "+detail)
	}
	return entries
}

// What is refused for its output is not in the audit.
func TestAuditOfRefusedOutput(t *testing.T) {
	t.Parallel()
	s := newSite(t, "MAIL_FROM=quotes@lumen.example").start()
	id := s.submit("lead")
	s.stop(t)
	before := s.recorded()

	taken := ownContent(t)
	for _, output := range []string{taken, "/nowhere/file"} {
		s.refuses(map[string]string{
			"leads export --output " + output:                          "--output: ",
			"leads export --email lead@example.com --output " + output: "--output: ",
			"mail preview --lead " + id + " --output " + output:        "--output: ",
			"mail preview --mail sales --lead " + id + " -o " + output: "--output: ",
		})
	}
	if after := s.recorded(); !slices.Equal(after, before) {
		t.Errorf("the audit has %q", after[len(before):])
	}

	s.says(
		said{"leads export --overwrite --output " + taken, []string{"1 leads"}, nil},
		said{"mail preview --overwrite --output " + taken + " --lead " + id, []string{"a mail"}, nil},
	)
	if added := s.recorded()[len(before):]; len(added) != 2 ||
		!strings.HasPrefix(added[0], "EXPORTED") || !strings.HasPrefix(added[1], "OPENED "+id) {
		t.Errorf("the audit has %q", added)
	}
}

// A head of the audit that could not be read at the start is read soon again.
func TestAuditHeadIsReadAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t).start()
	heads := func() int { return strings.Count(s.log.String(), "audit head") }
	eventually(t, "the head is in the log", func() bool { return heads() == 1 })
	s.stop(t)

	s.damage(`ALTER TABLE audit_ends RENAME TO audit_away`)
	s.start()
	before := heads()
	eventually(t, "reading it fails", func() bool { return strings.Contains(s.log.String(), "reading the head of the audit") })
	s.damage(`ALTER TABLE audit_away RENAME TO audit_ends`)
	eventually(t, "the head is in the log again", func() bool { return heads() > before })
}

// What is refused leaves no entry of something that was done.
func TestAuditOfWhatIsRefused(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	id := s.submit("one")
	s.arrives(id)
	bot := newLead("bot")
	bot["website"] = "https://spam.example"
	_, answer := s.post("/api/quote/submit", bot)
	spam, _ := answer["submissionId"].(string)

	for operation, want := range map[string]string{
		`resendLead(id: "` + id + `", target: WEBHOOK) { id }`: "BAD_USER_INPUT",
		`resendLead(id: "` + spam + `", target: CMS) { id }`:   "BAD_USER_INPUT",
		`retryDelivery(id: "0") { id }`:                        "NOT_FOUND",
		`retryDelivery(id: "00") { id }`:                       "NOT_FOUND",
		`retryDelivery(id: "01") { id }`:                       "NOT_FOUND",
		`retryDelivery(id: "+1") { id }`:                       "NOT_FOUND",
		`retryDelivery(id: "-1") { id }`:                       "NOT_FOUND",
	} {
		if _, code := b.asks(`mutation { changed: ` + operation + ` }`); code != want {
			t.Errorf("%s: %q, want %s", operation, code, want)
		}
	}
	for _, command := range []string{"deliveries retry 0", "deliveries resend --target cms " + spam} {
		if out, code := s.run(strings.Fields(command)...); code == 0 {
			t.Errorf("%s: %s", command, out)
		}
	}

	for _, entry := range s.recorded() {
		if strings.HasPrefix(entry, "RESENT") || strings.HasPrefix(entry, "RETRIED") {
			t.Errorf("the audit has %s", entry)
		}
	}
}
