package leadmail

import (
	"os"
	"strings"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/exec"
)

// The manual lists every reason by its name, and by its words except for a failure, which
// has its own. The names by which the store returns limits are among them.
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
		switch schema.NoMailReason(value.Name) {
		case schema.NoMailReasonFailed:
			row = "| `FAILED`: "
		case schema.NoMailReasonUnconfirmed: // in the table of the mail server's responses
			row = "`UNCONFIRMED`"
		}
		if !strings.Contains(text, strings.ToLower(row)) {
			t.Errorf("OPERATIONS.md has no %q", row)
		}
	}

	for _, limit := range []store.MailLimit{
		store.AddressLimit, store.NetworkLimit, store.WaitingLimit, store.ServiceLimit,
	} {
		if values.ForName(string(limit)) == nil {
			t.Errorf("the schema has no %s", limit)
		}
	}
}

// TestNoMailReason reads what a store may have about the mail to a visitor: names of the
// schema, sentences of earlier versions, messages of failures and words of operators.
func TestNoMailReason(t *testing.T) {
	t.Parallel()
	mail := func(state lead.DeliveryState, reason string) lead.Delivery {
		return lead.Delivery{Target: lead.VisitorMail, State: state, Reason: reason}
	}
	waits := func(reason string) lead.Delivery {
		return lead.Delivery{Target: lead.VisitorMail, State: lead.Retrying, Paused: reason}
	}
	failedOnce := mail(lead.Retrying, "")
	failedOnce.Errors = []lead.Attempt{{Error: "mail: sending: unavailable"}}
	limited := failedOnce // the current pause takes precedence over an earlier failure
	limited.Paused = string(store.ServiceLimit)
	toSales := waits(lead.ErrUnconfirmed.Error())
	toSales.Target = lead.SalesMail
	dismissed := lead.Delivery{Target: lead.CRM, State: lead.Dismissed, Reason: "NO_MAILBOX"}

	for name, c := range map[string]struct {
		delivery lead.Delivery
		value    schema.NoMailReason // of the delivery
		words    string
		lead     schema.NoMailReason // of the lead
	}{
		"decided":                {mail(lead.NotSent, "NO_MAILBOX"), "NO_MAILBOX", "There is no such mailbox.", "NO_MAILBOX"},
		"off from the start":     {mail(lead.NotSent, "VISITOR_MAIL_OFF"), "VISITOR_MAIL_OFF", "VISITOR_MAIL was off.", "VISITOR_MAIL_OFF"},
		"waits for its turn":     {waits("SERVICE_LIMIT"), "SERVICE_LIMIT", "The hourly limit VISITOR_MAILS_PER_HOUR was reached.", "SERVICE_LIMIT"},
		"limited after failures": {limited, "SERVICE_LIMIT", "The hourly limit VISITOR_MAILS_PER_HOUR was reached.", "SERVICE_LIMIT"},
		"failed once":            {failedOnce, "", "mail: sending: unavailable", "FAILED"},
		"a server's message":     {mail(lead.NotSent, "mail: sending: rejected (552 too big)"), "", "mail: sending: rejected (552 too big)", "FAILED"},
		"an earlier version":     {mail(lead.NotSent, "VISITOR_MAIL was off"), "", "VISITOR_MAIL was off", "FAILED"},
		"maybe arrived":          {waits(lead.ErrUnconfirmed.Error()), "UNCONFIRMED", "It was handed over but not confirmed, so it may have arrived.", ""},
		"maybe arrived at sales": {toSales, "UNCONFIRMED", "It was handed over but not confirmed, so it may have arrived.", ""},
		"on its way":             {mail(lead.Pending, ""), "", "", ""},
		"arrived":                {mail(lead.Delivered, ""), "", "", ""},
		"an operator's words":    {dismissed, "", "NO_MAILBOX", ""},
	} {
		value, words := Reason(c.delivery)
		ofLead := NoMailReason(lead.Lead{Deliveries: []lead.Delivery{{Target: lead.CMS}, c.delivery}})
		if value != c.value || words != c.words || ofLead != c.lead {
			t.Errorf("%s: %q %q, the lead %q", name, value, words, ofLead)
		}
	}

	if got := NoMailReason(lead.Lead{InReview: true}); got != schema.NoMailReasonInReview {
		t.Errorf("in review: %q", got)
	}
	if got := NoMailReason(lead.Lead{Rejected: true}); got != schema.NoMailReasonLeadRejected {
		t.Errorf("rejected: %q", got)
	}
}
