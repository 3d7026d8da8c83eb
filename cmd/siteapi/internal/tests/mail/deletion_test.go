package mail

import (
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/schema"
)

// ask asks for the deletion of a lead, as the form of its page does.
func (m mailing) ask(id string) {
	m.T.Helper()
	if got := m.Query(`mutation { requestQuoteDeletion(id: "`+id+`") { changed } }`, nil); !got.Has(`"changed":true`) {
		m.T.Fatalf("asking for deletion: %s", got)
	}
}

// A request for deletion reaches sales and the owner of the lead by mail, once, without contact
// data, and is counted until it is answered. An admin declines it with a reason, which the
// visitor reads on the page and in a mail in the visitor's language, with the right to
// complain.
func TestRequestForDeletion(t *testing.T) {
	t.Parallel()
	const owner = "maria@lumen.test"
	s := start(t, "ADMIN_TOKENS="+apptest.Owners(owner), "TIME_ZONE=Europe/Bucharest")
	id := s.submit("asks")
	s.receives(address("asks"), 1)
	s.receives(sales, 1)
	s.Prints("leads assign " + id + " " + owner)
	s.receives(owner, 1)

	// The mail server is away; the request is stored with its mails.
	s.server.Fail(smtptest.Fault{Step: smtptest.Sender, Mode: smtptest.Later})
	s.ask(id)
	s.Restart()
	s.server.Heal()
	reference := lead.Reference(id)
	for to, n := range map[string]int{sales: 2, owner: 2} {
		sent := s.receives(to, n)
		if sent.subject != "A visitor asks for deletion: "+reference || !strings.Contains(sent.text(), reference) ||
			!strings.Contains(sent.text(), "https://lumen.test/admin#leads?search="+reference) ||
			strings.Contains(sent.text(), "Pop") || strings.Contains(sent.text(), id) {
			t.Errorf("%s got %q: %s", to, sent.subject, sent.text())
		}
	}

	if n := apptest.Counter(t, s.Service, "siteapi_deletion_requests", nil); n != 1 {
		t.Errorf("%v requests are counted", n)
	}
	counts := s.Response(schema.RoleSales, `{ leads { counts { total deletionRequests } } }`)
	if !strings.Contains(string(counts), `{"total":1,"deletionRequests":1}`) {
		t.Errorf("counted %s", counts)
	}

	decline := `mutation { declineDeletion(lead: "` + reference + `", reason: "Păstrăm factura\nzece ani.") { mailed lead { deletionReason } } }`
	for role, want := range map[schema.Role]schema.Code{schema.RoleSales: schema.CodeForbidden, schema.RoleAdmin: ""} {
		if _, code := s.OperateAs(role, decline); code != string(want) {
			t.Errorf("%s declines: %s, want %s", role, code, want)
		}
	}
	if _, code := s.OperateAs(schema.RoleAdmin, decline); code != string(schema.CodeBadUserInput) {
		t.Errorf("declining again: %s", code)
	}

	sent := s.receives(address("asks"), 2)
	page := string(s.Do("GET", "/api/quote/page?locale=ro&id="+id, "").Body)
	for _, words := range []string{"Păstrăm factura", "zece ani.", "puteți depune o plângere"} {
		if !strings.Contains(sent.text(), words) || !strings.Contains(page, words) {
			t.Errorf("%q is missing from the mail or the page: %s\n%s", words, sent.text(), page)
		}
	}
	if sent.subject != "Cererea dumneavoastră de ștergere · "+reference || strings.Contains(page, "Cereți ștergerea") {
		t.Errorf("the subject is %q", sent.subject)
	}
	if n := apptest.Counter(t, s.Service, "siteapi_deletion_requests", nil); n != 0 {
		t.Errorf("%v requests are counted after the answer", n)
	}
	if audit := s.Prints("audit list --action deletion-declined --json").Out; strings.Contains(audit, "factura") || !strings.Contains(audit, id) {
		t.Errorf("the audit has %s", audit)
	}
}

// A mail to an address that has no mailbox does not count as under way.
func TestDeclinedWithoutMailbox(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.server.Fail(smtptest.Fault{Step: smtptest.Recipient, Mode: smtptest.Never, To: address("gone"), Text: "5.1.1 User unknown"})
	id := s.submit("gone")
	s.Reaches(id, lead.VisitorMail, lead.NotSent)
	s.ask(id)
	s.Prints("leads decline-deletion "+id+" --reason Needed.", "mailed", "false")
}

// Without mails to visitors, an admin learns that nothing is sent. A lead in review gets no
// mail, and its request reaches sales all the same.
func TestDeclinedWithoutMail(t *testing.T) {
	t.Parallel()
	s := start(t, "VISITOR_MAIL=off")
	id := s.submit("unmailed")
	s.ask(id)
	s.receives(sales, 2)
	s.Prints("leads decline-deletion "+id+" --reason Needed.", "mailed", "false")
	if got := s.mails(address("unmailed")); len(got) != 0 {
		t.Errorf("the visitor got %d mails", len(got))
	}
}
