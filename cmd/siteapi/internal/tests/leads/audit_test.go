package leads

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
)

// What operators do through the schema and with commands is stored, without contact data.
func TestAudit(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)

	spam := submitSpam(s, "bot")
	id := s.Submit("one")
	s.Arrives(id)
	shown := s.Submit("shown")

	for _, operation := range []string{
		`{ leads { edges { node { state } } } }`, // no contact data, no entry
		`{ leads(search: \"one@example.com\", locale: ro) { edges { node { contact { email } } } } }`,
		`{ leads { csv edges { cursor } } }`,
		`{ lead(id: \"` + id + `\") { contact { email } } }`,
		`{ lead(id: \"` + id + `\") { contact { email } } }`,                    // again at once
		`mutation { releaseLead(id: \"` + shown + `\") { contact { email } } }`, // changes nothing
		`mutation { rejectLead(id: \"` + spam + `\") { state } }`,
		`mutation { rejectLead(id: \"nosuch12\") { state } }`,
		`mutation { withdrawConsent(id: \"` + id + `\", purpose: \"news\") { lead { state } } }`, // was never given
		`mutation { releaseLead(id: \"` + spam + `\") { state } }`,
		`mutation { resendLead(id: \"` + id + `\", target: CRM) { state } }`,
	} {
		b.Send("POST", "/graphql", `{"query":"`+operation+`"}`, "Authorization: Bearer secret-of-operators")
	}

	s.Arrives(spam)
	s.Run("leads", "list", "--search", "one@example.com")
	s.Run("leads", "show", id)
	s.Run("leads", "export")
	s.Run("leads", "withdraw", "one@example.com", "--purpose", "news") // was never given
	s.Run("leads", "erase", "--email", "one@example.com", "--yes", "--server", s.Base)
	b.Send("POST", "/graphql", `{"query":"mutation { eraseLeads(email: \"nobody@example.com\", dryRun: false) { complete } }"}`,
		"Authorization: Bearer secret-of-operators")

	// The test itself lists deliveries, to see what has arrived.
	got, list := b.Audited()
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
	apptest.Eventually(t, "the head is in the log", func() bool { return strings.Contains(s.Log.String(), "audit head") })
	s.Says(
		apptest.Said{Args: "audit verify", Want: []string{list[len(list)-1].Hash}},
		apptest.Said{Args: "audit verify --head " + list[3].Hash, Want: []string{fmt.Sprintf("%-26s %d", "entries", len(list))}},
	)
	s.Damage(`DELETE FROM audit WHERE seq = 5`)
	if out, code := s.Run("audit", "verify"); code != 2 || !strings.Contains(out, "entry 5 is missing") {
		t.Errorf("%d %s", code, out)
	}
}

// A backup, its restore and a move to PostgreSQL carry the audit, which goes on from there.
func TestAuditTravels(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	id := s.Submit("one")
	s.Run("leads", "show", id)
	s.Run("leads", "export")
	head := s.AuditHead()

	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	s.Says(apptest.Said{Args: "backup --output " + file, Want: []string{"1 leads"}})
	restored := apptest.NewSite(t)
	restored.Says(apptest.Said{Args: "restore --from " + file, Want: []string{"restored"}})
	restored.HasAudit(head)
	restored.Run("leads", "list")
	restored.HasAudit(head)
	if restored.AuditHead() == head {
		t.Error("nothing is recorded after a restore")
	}

	s.Stop(t)
	moved := &apptest.Site{T: t, Dir: s.Dir, Env: append(s.Env, "DATABASE_URL="+pgserver.Start(t).NewDatabase(t))}
	moved.Says(apptest.Said{Args: "store copy", Want: []string{"notes: 0 rows"}})
	moved.HasAudit(head)
	moved.Run("leads", "show", id)
	moved.HasAudit(head)
}

// Commands that read deliveries or leads, or try deliveries again, leave an entry with the lead.
func TestAuditOfCommands(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t, "MAIL_FROM=hello@example.com").Start()
	id := s.Submit("one")
	s.Arrives(id)

	var list []schema.Delivery
	s.JSON(&list, "deliveries", "list", "--state", "all", "--target", "crm")
	if len(list) != 1 {
		t.Fatalf("the deliveries: %+v", list)
	}
	s.Run("deliveries", "retry", fmt.Sprint(list[0].ID))
	s.Run("deliveries", "retry", "999999")
	s.Run("mail", "preview", "--lead", id)

	want := []string{
		`LISTED  {"count":1,"of":"deliveries"}`,
		`RETRIED ` + id + ` {"target":"CRM"}`,
		`OPENED ` + id + ` {}`,
	}
	got := slices.DeleteFunc(s.Recorded(), func(entry string) bool {
		return entry == `LISTED  {"count":4,"of":"deliveries"}` // of the test itself
	})
	if !slices.Equal(got, want) {
		t.Errorf("the audit is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What is refused for its output is not in the audit.
func TestAuditOfRefusedOutput(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t, "MAIL_FROM=quotes@lumen.example").Start()
	id := s.Submit("lead")
	s.Stop(t)
	before := s.Recorded()

	taken := apptest.OwnContent(t)
	for _, output := range []string{taken, "/nowhere/file"} {
		s.Refuses(map[string]string{
			"leads export --output " + output:                          "--output: ",
			"leads export --email lead@example.com --output " + output: "--output: ",
			"mail preview --lead " + id + " --output " + output:        "--output: ",
			"mail preview --mail sales --lead " + id + " -o " + output: "--output: ",
		})
	}
	if after := s.Recorded(); !slices.Equal(after, before) {
		t.Errorf("the audit has %q", after[len(before):])
	}

	s.Says(apptest.Said{Args: "leads export --overwrite --output " + taken, Want: []string{"written"}})
	if text, err := os.ReadFile(taken); err != nil || strings.Count(string(text), "\r\n") != 2 || !strings.Contains(string(text), id) {
		t.Errorf("the export is not a heading and the lead: %v %s", err, text)
	}
	s.Says(
		apptest.Said{Args: "mail preview --overwrite --output " + taken + " --lead " + id, Want: []string{"a mail"}, Not: nil},
	)
	if added := s.Recorded()[len(before):]; len(added) != 2 ||
		!strings.HasPrefix(added[0], "EXPORTED") || !strings.HasPrefix(added[1], "OPENED "+id) {
		t.Errorf("the audit has %q", added)
	}
}

// A head of the audit that could not be read at the start is read soon again.
func TestAuditHeadIsReadAgain(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	heads := func() int { return strings.Count(s.Log.String(), "audit head") }
	apptest.Eventually(t, "the head is in the log", func() bool { return heads() == 1 })
	s.Stop(t)

	s.Damage(`ALTER TABLE audit_head RENAME TO audit_away`)
	s.Start()
	before := heads()
	apptest.Eventually(t, "reading it fails", func() bool { return strings.Contains(s.Log.String(), "reading the head of the audit") })
	s.Damage(`ALTER TABLE audit_away RENAME TO audit_head`)
	apptest.Eventually(t, "the head is in the log again", func() bool { return heads() > before })
}

// What is refused leaves no entry of something that was done.
func TestAuditOfWhatIsRefused(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	id := s.Submit("one")
	s.Arrives(id)
	spam := submitSpam(s, "bot")

	for operation, want := range map[string]string{
		`resendLead(id: "` + id + `", target: WEBHOOK) { id }`: "BAD_USER_INPUT",
		`resendLead(id: "` + spam + `", target: CMS) { id }`:   "BAD_USER_INPUT",
		`retryDelivery(id: "0") { id }`:                        "NOT_FOUND",
		`retryDelivery(id: "00") { id }`:                       "NOT_FOUND",
		`retryDelivery(id: "01") { id }`:                       "NOT_FOUND",
		`retryDelivery(id: "+1") { id }`:                       "NOT_FOUND",
		`retryDelivery(id: "-1") { id }`:                       "NOT_FOUND",
	} {
		if _, code := b.Asks(`mutation { changed: ` + operation + ` }`); code != want {
			t.Errorf("%s: %q, want %s", operation, code, want)
		}
	}
	for _, command := range []string{"deliveries retry 0", "deliveries resend --target cms " + spam} {
		if out, code := s.Run(strings.Fields(command)...); code == 0 {
			t.Errorf("%s: %s", command, out)
		}
	}

	for _, entry := range s.Recorded() {
		if strings.HasPrefix(entry, "RESENT") || strings.HasPrefix(entry, "RETRIED") {
			t.Errorf("the audit has %s", entry)
		}
	}
}
