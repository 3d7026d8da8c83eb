package mail

import (
	"fmt"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
)

// The mail to sales about a visitor's second request refers to the first one.
func TestSecondRequestOfASession(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{})
	s := apptest.Start(t, env...)
	first := ""
	for n, email := range []string{"ana@exmaple.test", "ana@gmail.test"} {
		id := submitFrom(s, "twice", email)
		text := contents(t, apptest.Mailed(t, server, "sales@lumen.test", n+1))["text/plain"]
		if refers := strings.Contains(text, "Same visit, other request: "+first); !strings.Contains(text, lead.Reference(id)) || refers != (n == 1) {
			t.Errorf("mail %d: %s", n, text)
		}
		first = lead.Reference(id)
	}
}

// A bounced mail has a short reason and does not change the lead's state. An operator can
// correct the address of the mail to the visitor, which is then sent to the corrected
// address, each time with a new id. The lead keeps the typed address and is found by
// either. Neither address appears in the audit or the log.
func TestCorrectedAddress(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{})
	s := apptest.Start(t, env...)
	const typed, right = "ana@gmial.test", "Ana@gmail.test"
	server.Fail(smtptest.Fault{
		Step: smtptest.Recipient, Mode: smtptest.Never, To: typed, Text: "5.1.1 " + typed + ": user unknown",
	})
	id := submitFrom(s, "typo", typed)
	s.Reaches(id, lead.VisitorMail, lead.NotSent)
	apptest.Eventually(t, "the other deliveries arrive", func() bool { return s.ShowLead(id).State == lead.StateDelivered })
	if got := leadAsOperator(s, id, "noMailReason")["noMailReason"]; got != "NO_MAILBOX" {
		t.Errorf("the reason is %v", got)
	}

	if out, err := s.Command("deliveries", "resend", id, "--target", "crm", "--email", right); err == nil {
		t.Errorf("an address was accepted for another target: %s", out)
	}
	for i := 1; i <= 2; i++ {
		args := "deliveries resend --target visitor-mail " + id
		if i == 1 {
			args += " --email " + right
		}
		s.Prints(args)
		apptest.Mailed(t, server, right, i)
		s.Reaches(id, lead.VisitorMail, lead.Delivered)
	}
	for _, path := range []string{"/api/quote/page?id=", "/api/quote/pdf?id="} {
		text := string(s.Do("GET", path+id, "").Body)
		if strings.HasPrefix(text, "%PDF") {
			text = printed(t, text)
		}
		if !strings.Contains(text, right) || strings.Contains(text, typed) {
			t.Errorf("%s shows another address: %s", path, text)
		}
	}
	if _, ids := countMails(server, right); ids != 2 {
		t.Error("both mails have the same Message-ID")
	}

	shown := fmt.Sprint(leadAsOperator(s, id, "contact { email } deliveries { email } audit { action detail }"))
	if !strings.Contains(shown, "email:"+typed) || !strings.Contains(shown, "email:Ana@gmail.test") ||
		!strings.Contains(shown, `"corrected":true`) {
		t.Errorf("the lead has %s", shown)
	}
	for _, address := range []string{typed, right} {
		s.Prints("leads list --email "+address, lead.Reference(id))
	}
	s.Prints("audit list --json").Without("gmial", "gmail")
	if log := s.Log.String(); strings.Contains(log, "gmial") || strings.Contains(log, "gmail") {
		t.Errorf("the log contains an address: %s", log)
	}

	// The typed address may be another person's, whose lead, document and contact stay.
	other := submitFrom(s, "another-person", typed)
	apptest.Eventually(t, "the other lead arrives", func() bool { return s.ShowLead(other).State == lead.StateDelivered })
	erase(s, right, "the contact of "+typed+" in the CRM")
	s.Prints("deliveries verify") // The other lead's data is complete.
	erase(s, typed)
	s.Prints("leads list", "no leads")
}
