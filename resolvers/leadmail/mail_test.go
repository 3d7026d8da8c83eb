package leadmail

import (
	"os"
	"strings"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/schema/exec"
)

// The manual lists every reason by its name, and by its words except for failures, which
// have the mail server's.
func TestReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../cmd/siteapi/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ToLower(string(manual))
	values := exec.AST().Types["NoMailReason"].EnumValues
	for _, value := range values {
		row := "| `" + value.Name + "`: " + strings.TrimSuffix(value.Description, ".")
		switch code := lead.NoMailReason(value.Name); code {
		case lead.MailFailed, lead.MailRefused:
			row = "| `" + value.Name + "`: "
		case lead.MailUnconfirmed: // in the table of the mail server's responses
			row = "`UNCONFIRMED`"
		default:
			if code != lead.MailInReview && code != lead.MailLeadRejected && code.Words() != value.Description {
				t.Errorf("%s is described as %q", code, code.Words())
			}
		}
		if !strings.Contains(text, strings.ToLower(row)) {
			t.Errorf("OPERATIONS.md has no %q", row)
		}
	}

}

// TestNoMailReason reads what a store may have about the mail to a visitor: codes, messages
// of failures, and words of operators, which may look like a code.
func TestNoMailReason(t *testing.T) {
	t.Parallel()
	mail := func(state lead.DeliveryState, code lead.NoMailReason, errs ...string) lead.Delivery {
		d := lead.Delivery{Target: lead.VisitorMail, State: state, Code: code}
		for _, err := range errs {
			d.Errors = append(d.Errors, lead.Attempt{Error: err})
		}
		return d
	}
	paused := mail(lead.Pending, "")
	paused.Paused = "smtp: sending a mail: refused"
	toSales := mail(lead.Retrying, lead.MailUnconfirmed)
	toSales.Target = lead.SalesMail
	const message = "mail: sending: rejected (552 too big)"

	for name, c := range map[string]struct {
		delivery lead.Delivery
		words    string
		lead     lead.NoMailReason
	}{
		"decided":                {mail(lead.NotSent, lead.NoMailbox), "There is no such mailbox.", "NO_MAILBOX"},
		"off from the start":     {mail(lead.NotSent, lead.VisitorMailOff), "VISITOR_MAIL was off.", "VISITOR_MAIL_OFF"},
		"waits for its turn":     {mail(lead.Retrying, lead.ServiceLimit), lead.ServiceLimit.Words(), "SERVICE_LIMIT"},
		"limited after failures": {mail(lead.Retrying, lead.ServiceLimit, message), lead.ServiceLimit.Words(), "SERVICE_LIMIT"},
		"failed once":            {mail(lead.Retrying, "", message), message, "FAILED"},
		"failed twice":           {mail(lead.Retrying, "", "mail: sending: unavailable", message), message, "FAILED"},
		"rejected":               {mail(lead.NotSent, lead.MailFailed, message), message, "FAILED"},
		"refused":                {mail(lead.NotSent, lead.MailRefused, message), message, "REFUSED"},
		"paused":                 {paused, "smtp: sending a mail: refused", "FAILED"},
		"maybe arrived":          {mail(lead.Retrying, lead.MailUnconfirmed), lead.MailUnconfirmed.Words(), ""},
		"maybe arrived at sales": {toSales, lead.MailUnconfirmed.Words(), ""},
		"on its way":             {mail(lead.Pending, ""), "", ""},
		"arrived":                {mail(lead.Delivered, "", message), "", ""},
		"an operator's words": {
			lead.Delivery{Target: lead.CRM, State: lead.Dismissed, Reason: "NO_MAILBOX"}, "NO_MAILBOX", "",
		},
	} {
		c.delivery.Event = lead.Created
		ofLead := NoMailReason(lead.Lead{Deliveries: []lead.Delivery{{Target: lead.CMS}, c.delivery}})
		if words := c.delivery.Why(); words != c.words || ofLead != c.lead {
			t.Errorf("%s: %q, the lead %q", name, words, ofLead)
		}
	}

	if got := NoMailReason(lead.Lead{InReview: true}); got != lead.MailInReview {
		t.Errorf("in review: %q", got)
	}
	if got := NoMailReason(lead.Lead{Rejected: true}); got != lead.MailLeadRejected {
		t.Errorf("rejected: %q", got)
	}
}
