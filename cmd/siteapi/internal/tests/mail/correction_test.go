package mail

import (
	"fmt"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/store"
)

// The mail to sales about a visitor's second request refers to the first one.
func TestSecondRequestOfASession(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := s.submitFrom("twice", "ana@exmaple.test")
	before := s.receives(sales, 1).text()
	s.submitFrom("twice", "ana@gmail.test")
	after := s.receives(sales, 2).text()

	const note = "Same visit, other request"
	if strings.Contains(before, note) || !strings.Contains(after, note) || !strings.Contains(after, lead.Reference(first)) {
		t.Errorf("sales reads %s\nand %s", before, after)
	}
}

// A bounced mail has a short reason and does not change the lead's state. An operator can
// correct the address of the mail to the visitor, which is then sent to the corrected
// address, each time with a new id. The lead keeps the typed address and a search finds it by
// either; it is one of the leads of the corrected address. Neither address appears in the audit or the log.
func TestCorrectedAddress(t *testing.T) {
	t.Parallel()
	s := start(t)
	const typed, right = "ana@gmial.test", "Ana@gmail.test"
	s.server.Fail(smtptest.Fault{
		Step: smtptest.Recipient, Mode: smtptest.Never, To: typed, Text: "5.1.1 " + typed + ": user unknown",
	})
	id := s.submitFrom("typo", typed)
	s.Reaches(id, lead.VisitorMail, lead.NotSent)
	s.isDelivered(id)
	if got := s.noMailReason(id); got != "NO_MAILBOX" {
		t.Errorf("the reason is %v", got)
	}

	resend := "deliveries resend " + id + " --target "
	if out, err := s.Command(strings.Fields(resend + "crm --email " + right)...); err == nil {
		t.Errorf("an address was accepted for another target: %s", out)
	}
	s.Prints(resend + "visitor-mail --email " + right)
	sent := s.receives(right, 1)
	s.Reaches(id, lead.VisitorMail, lead.Delivered)
	s.Prints(resend + "visitor-mail")
	if again := s.receives(right, 2); again.Get("Message-ID") == sent.Get("Message-ID") {
		t.Error("both mails have the same Message-ID")
	}
	s.Reaches(id, lead.VisitorMail, lead.Delivered)

	for _, path := range []string{"/api/quote/page?id=", "/api/quote/pdf?id="} {
		body := s.Do("GET", path+id, "").Body
		text := string(body)
		if strings.HasPrefix(text, "%PDF") {
			text = apptest.PDFText(t, body)
		}
		if strings.Contains(text, "ana@") || strings.Contains(text, "Ana@") || !strings.Contains(text, lead.Reference(id)) {
			t.Errorf("%s shows an address: %s", path, text)
		}
	}
	s.Prints("leads show --json "+id, `"email": "`+typed, `"email": "Ana@gmail.test"`)
	for _, address := range []string{typed, right} {
		s.Prints("leads list --search "+address, lead.Reference(id))
	}
	s.Prints("leads list --email "+right, lead.Reference(id))
	s.Prints("leads list --email "+typed, "no leads")
	audit := s.Prints("audit list --json", `"corrected": true`).Out + s.Log.String()
	if strings.Contains(audit, "gmial") || strings.Contains(audit, "gmail") {
		t.Errorf("the audit or the log contains an address: %s", audit)
	}

	// The typed address may be another person's, whose lead, document and contact stay.
	s.isDelivered(s.submitFrom("another-person", typed))
	erase := "leads erase --yes --server " + s.Base + " --email "
	s.Prints(erase+right, "contacts that people maintain or others have, without our properties")
	s.Prints("deliveries verify")
	s.Prints(erase + typed)
	s.Prints("leads list", "no leads")
}

// A mail that has arrived stays one that has arrived, whatever an operator asks for.
func TestArrivedMailStaysArrived(t *testing.T) {
	t.Parallel()
	s := start(t)
	const email = "ana@client.test"
	id := s.submitFrom("thrice", email)
	s.Reaches(id, lead.VisitorMail, lead.Delivered)
	s.Reaches(id, lead.SalesMail, lead.Delivered)
	refuses := func(args, want string) {
		t.Helper()
		if out, err := s.Command(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q: %s", args, err, want, out)
		}
	}
	const arrived = "has arrived: `resendLead`"
	for target, d := range s.Deliveries(id) {
		if target == lead.VisitorMail || target == lead.SalesMail {
			refuses(fmt.Sprint("deliveries retry ", d.ID), arrived)
		}
	}
	refuses("deliveries retry --all --state delivered", arrived)

	resend := "deliveries resend " + id + " --target visitor-mail"
	for n := 2; n <= store.MailsPerAddress; n++ {
		s.Prints(resend)
		s.receives(email, n)
		s.Reaches(id, lead.VisitorMail, lead.Delivered)
	}
	const full = "3 mails were already sent to this address"
	refuses(resend, full)
	refuses(resend+" --email Ana+tag@client.test", full)
	if d := s.Deliveries(id)[lead.VisitorMail]; d.State != lead.Delivered || d.FinishedAt.IsZero() || s.noMailReason(id) != "" {
		t.Errorf("the mail that arrived is %+v", d)
	}
	if n := len(s.mails(sales)); n != 1 {
		t.Errorf("sales has %d mails", n)
	}
	s.Prints(resend + " --email other@client.test")
	s.receives("other@client.test", 1)
}
