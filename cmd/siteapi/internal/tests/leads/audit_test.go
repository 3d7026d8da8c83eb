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
)

// Operators' actions, through GraphQL and with commands, are recorded without contact
// data. Rejected actions and those that change nothing leave no entry.
func TestAudit(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t, "MAIL_FROM=hello@example.com")

	spam := submitSpam(s, "bot")
	id := s.Submit("one")
	s.Arrives(id)
	shown := s.Submit("shown")

	for _, operation := range []string{
		`{ leads { edges { node { state } } } }`, // no contact data, no entry
		`{ lead(lead: "` + id + `") { contact { email } } }`,
		`{ lead(lead: "` + id + `") { contact { email } } }`,                                 // the same again
		`mutation { assignLeads(leads: ["` + shown + `"]) { leads { contact { email } } } }`, // changes nothing
		`mutation { rejectLeads(leads: ["` + spam + `"]) { leads { state } } }`,
		`mutation { rejectLeads(leads: ["nosuch12"]) { leads { state } } }`,
		`mutation { withdrawConsent(lead: "` + id + `", purpose: "news") { lead { state } } }`, // was never given
		`mutation { resendLead(lead: "` + spam + `", target: CMS) { lead { state } } }`,        // is rejected
		`mutation { releaseLeads(leads: ["` + spam + `"]) { leads { state } } }`,
		`mutation { resendLead(lead: "` + id + `", target: CRM) { lead { state } } }`,
		`mutation { resendLead(lead: "` + id + `", target: WEBHOOK) { lead { state } } }`, // is not set up
	} {
		b.Asks(operation)
	}

	s.Arrives(spam)
	delivery := fmt.Sprint(s.DeliveriesOf(id)["crm"].ID)
	for _, command := range []string{
		"leads list --search one@example.com",
		"leads show " + id,
		"leads export",
		"deliveries retry " + delivery,
		"deliveries retry 999999",
		"mail preview --lead " + shown,
		"leads withdraw one@example.com --purpose news", // was never given
		"leads erase --email one@example.com --yes --server " + s.Base,
		"leads erase --email nobody@example.com --yes --server " + s.Base,
	} {
		s.Run(strings.Fields(command)...)
	}

	// Entries of the test's own lists of deliveries are ignored.
	got, list := b.AuditEntries()
	command := "command:"
	for i := len(list) - 1; i >= 0; i-- {
		if strings.HasPrefix(list[i].Actor, command) {
			command = list[i].Actor
		}
		detail := fmt.Sprint(list[i].Detail)
		if strings.Contains(detail, "one") || strings.Contains(detail, "@") {
			t.Errorf("the search text is in the audit: %s", detail)
		}
		if strings.Contains(detail, "of:deliveries") {
			got = slices.Delete(got, i, i+1)
		}
	}
	want := []string{
		"token OPENED " + id,
		"token OPENED " + shown,
		"token REJECTED " + spam,
		"token RELEASED " + spam,
		"token RESENT " + id,
		command + " LISTED -",
		command + " OPENED " + id,
		command + " EXPORTED -",
		command + " RETRIED " + id,
		command + " OPENED " + shown,
		command + " ERASED " + id,
		command + " ERASED -",
	}
	if !slices.Equal(got, want) || len(command) < len("command:x") {
		t.Fatalf("the audit is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// When the service starts, it logs the head of the audit chain.
	s.Logs("audit head")
	s.Prints("audit verify --head "+list[3].Hash, list[len(list)-1].Hash)
	s.Damage(`DELETE FROM audit WHERE seq = 5`)
	if out, code := s.Run("audit", "verify"); code != 2 || !strings.Contains(out, "entry 5 is missing") {
		t.Errorf("%d %s", code, out)
	}
}

// A backup, its restore and a move to PostgreSQL keep the audit, and new entries continue
// its chain.
func TestAuditIsCopied(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	id := s.Submit("one")
	s.Run("leads", "show", id)
	head := s.AuditHead()

	folder := filepath.Join(t.TempDir(), "backup")
	s.Prints("backup --output "+folder, "1 leads")
	restored := &apptest.Site{T: t, Dir: folder, Env: append(s.Env, "DATA_DIR="+folder)}

	moved := &apptest.Site{T: t, Dir: s.Dir, Env: append(s.Env, "DATABASE_URL="+pgserver.Start(t).NewDatabase(t))}
	moved.Refuses(map[string]string{"store copy": "stop the service"}) // it would miss later leads
	s.Stop(t)
	moved.Prints("store copy", "notes: 0 rows", "keeps everybody")

	for _, copied := range []*apptest.Site{restored, moved} {
		copied.Prints("audit verify --head " + head)
		copied.Run("leads", "export")
		copied.Prints("audit verify --head " + head)
		if copied.AuditHead() == head {
			t.Error("nothing is recorded after the copy")
		}
	}
}

// A command whose --output is rejected is not in the audit.
func TestAuditOfRejectedOutput(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t, "MAIL_FROM=quotes@lumen.example").Start()
	id := s.Submit("lead")
	before := s.AuditEntries()

	taken := apptest.OwnContent(t)
	for _, output := range []string{taken, "/nowhere/file"} {
		s.Refuses(map[string]string{
			"leads export --output " + output:                   "--output: ",
			"mail preview --lead " + id + " --output " + output: "--output: ",
		})
	}
	if after := s.AuditEntries(); !slices.Equal(after, before) {
		t.Errorf("the audit has %q", after[len(before):])
	}

	s.Prints("leads export --overwrite --output "+taken, "written")
	if text, err := os.ReadFile(taken); err != nil || !strings.Contains(string(text), id) {
		t.Errorf("the export lacks the lead: %v %s", err, text)
	}
}
