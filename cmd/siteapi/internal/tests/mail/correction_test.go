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
	var ids []string
	for n, email := range []string{"ana@exmaple.test", "ana@gmail.test"} {
		input := apptest.NewLead("twice")
		input["contact"].(object)["email"] = email
		ids = append(ids, s.SubmitThrough("REST", input).ID())
		apptest.Mailed(t, server, "sales@lumen.test", n+1)
	}

	for i, m := range server.Mails() {
		text, refers := string(m.Data), strings.Contains(string(m.Data), "Same visit, other request")
		if second := strings.Contains(text, "search="+lead.Reference(ids[1])) || strings.Contains(text, "search=3D"+lead.Reference(ids[1])); m.To == "sales@lumen.test" &&
			(refers != second || refers && !strings.Contains(text, lead.Reference(ids[0]))) {
			t.Errorf("mail %d: %s", i, text)
		}
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
	state := func() lead.DeliveryState { return s.Deliveries(id)[lead.VisitorMail].State }
	apptest.Eventually(t, "the mail is not sent", func() bool { return state() == lead.NotSent })
	apptest.Eventually(t, "the other deliveries arrive", func() bool { return s.ShowLead(id).State == lead.StateDelivered })
	if got := leadAsOperator(s, id, "noMailReason")["noMailReason"]; got != "NO_MAILBOX" {
		t.Errorf("the reason is %v", got)
	}

	if out, err := s.Command("deliveries", "resend", id, "--target", "crm", "--email", right); err == nil {
		t.Errorf("an address was accepted for another target: %s", out)
	}
	for i := 1; i <= 2; i++ {
		args := []string{"deliveries", "resend", id, "--target", "visitor-mail"}
		if i == 1 {
			args = append(args, "--email", right)
		}
		if out, err := s.Command(args...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		apptest.Mailed(t, server, right, i)
		apptest.Eventually(t, "the delivery is recorded", func() bool { return state() == lead.Delivered })
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
	sent := apptest.MailsTo(server, right)
	if sent[0].Header.Get("Message-ID") == sent[1].Header.Get("Message-ID") {
		t.Error("both mails have the same Message-ID")
	}

	shown := fmt.Sprint(leadAsOperator(s, id, "contact { email } deliveries { email } audit { action detail }"))
	if !strings.Contains(shown, "email:"+typed) || !strings.Contains(shown, "email:Ana@gmail.test") ||
		!strings.Contains(shown, `"corrected":true`) {
		t.Errorf("the lead has %s", shown)
	}
	for _, address := range []string{typed, right} {
		if out, err := s.Command("leads", "list", "--email", address); err != nil || !strings.Contains(out, lead.Reference(id)) {
			t.Errorf("the lead is not found by %s: %v %s", address, err, out)
		}
	}
	audit, err := s.Command("audit", "list", "--json")
	if err != nil || strings.Contains(audit+s.Log.String(), "gmial") || strings.Contains(audit+s.Log.String(), "gmail") {
		t.Errorf("the audit or the log contains an address: %v %s", err, audit)
	}

	// The typed address may be another person's, whose lead, document and contact stay.
	other := submitFrom(s, "another-person", typed)
	apptest.Eventually(t, "the other lead arrives", func() bool { return s.ShowLead(other).State == lead.StateDelivered })
	out, err := s.Command("leads", "erase", "--email", right, "--yes", "--server", s.Base)
	if err != nil || !strings.Contains(out, "the contact of "+typed+" in the CRM") {
		t.Errorf("erasing by the corrected address: %v %s", err, out)
	}
	if out, err := s.Command("deliveries", "verify"); err != nil {
		t.Errorf("the erasure took data of the other lead: %v %s", err, out)
	}
	if out, err := s.Command("leads", "erase", "--email", typed, "--yes", "--server", s.Base); err != nil {
		t.Errorf("erasing by the typed address: %v %s", err, out)
	}
	if out, _ := s.Command("leads", "list"); !strings.Contains(out, "no leads") {
		t.Errorf("after the erasure leads list prints %s", out)
	}
}
