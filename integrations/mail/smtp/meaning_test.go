package smtp_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"siteapi/integrations/mail"
	"siteapi/integrations/mail/smtp"
	"siteapi/integrations/upstream"
)

const ourSales, ourSales2 = "sales@lumen.test", "more@lumen.test"

// TestMeaningOfAReply has refusals of real servers to RCPT TO, and what the server says of
// an address of sales when it is asked for that at once. Enhanced codes are those of RFC
// 3463, its registry (RFC 5248) and RFC 7505; the words are those of the servers' sources
// and of reports. A refusal that may be ours stops all mails only if sales is refused, too.
func TestMeaningOfAReply(t *testing.T) {
	t.Parallel()
	const later, ours, never = upstream.Unavailable, upstream.Refused, upstream.Rejected
	const same, accepted = "the same", ""
	noMailbox, refused := mail.ErrNoMailbox, mail.ErrRefused
	for reply, c := range map[string]struct {
		sales string // reply for the address of sales; empty: it is not asked for, or accepted
		kind  upstream.Kind
		cause error
	}{
		// The sender's address.
		"553 5.7.1 <quotes@lumen.test>: Sender address rejected: not owned by user siteapi":           {same, ours, nil}, // Postfix
		"550 5.1.8 <quotes@lumen.test>: Sender address rejected: Domain not found":                    {same, ours, nil},
		"550 5.1.0 <quotes@lumen.test>: Sender address rejected: User unknown in virtual alias table": {same, ours, nil},
		"550-Verification failed for <quotes@lumen.test>\n550 Sender verify failed":                   {same, ours, nil}, // Exim
		"554 Message rejected: Email address is not verified.":                                        {same, ours, nil}, // SES
		"550 5.7.60 SMTP; Client does not have permissions to send as this sender":                    {same, ours, nil}, // Exchange
		"550 5.1.7 Invalid address": {same, ours, nil},

		// Relaying, the login and this machine.
		"550 relay not permitted":                                                           {same, ours, nil}, // Exim
		"554 5.7.1 <ana@client.test>: Relay access denied":                                  {same, ours, nil}, // Postfix
		"554 5.7.1 Relay access denied":                                                     {accepted, never, refused},
		"550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain":                 {same, ours, nil}, // Exchange
		"553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)":             {same, ours, nil}, // qmail
		"550 Please turn on SMTP Authentication in your mail client":                        {same, ours, nil}, // cPanel
		"530 5.7.0 Must issue a STARTTLS command first":                                     {same, ours, nil},
		"504 5.5.2 <lumen>: Helo command rejected: need fully-qualified hostname":           {same, ours, nil},
		"554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.test":     {same, ours, nil},
		"554 5.7.1 Service unavailable; Client host [192.0.2.2] blocked using zen.test":     {accepted, never, refused},
		"554 5.7.1 Service unavailable; Client host [192.0.2.3] blocked using zen.test":     {"450 4.2.0 later", later, nil},
		"554 5.7.1 Service unavailable; Client host [192.0.2.4] blocked using zen.test":     {"550 5.1.1 User unknown", later, nil},
		"554 5.7.1 Service unavailable; Client host [192.0.2.5] blocked using bl.zen.test.": {"…", later, nil},

		// Limits.
		"550 5.4.5 Daily user sending limit exceeded":                                {same, ours, nil}, // Gmail
		"550 5.1.90 Your message can't be sent because you've reached your limit":    {same, ours, nil}, // Exchange Online
		"550 Domain lumen.test has exceeded the max emails per hour (101/100)":       {same, ours, nil}, // cPanel
		"452 4.3.1 Daily quota exceeded":                                             {accepted, later, nil},
		"450 4.1.8 <quotes@lumen.test>: Sender address rejected: Domain not found":   {accepted, later, nil},
		"421 4.7.0 Too many connections, closing":                                    {accepted, later, nil},
		"550 5.7.1 <ana@client.test>: Recipient address rejected: policy of the day": {accepted, never, refused},

		// The mailbox.
		"550 5.1.1 <ana@client.test>: Recipient address rejected: User unknown in relay recipient table": {accepted, never, noMailbox}, // Postfix
		"550 5.1.1 User unknown": {accepted, never, noMailbox},
		"550-5.1.1 The email account that you tried to reach does not exist.\n550 5.1.1 Please try again.": {accepted, never, noMailbox}, // Gmail
		"550 5.4.1 Recipient address rejected: Access denied":                                              {accepted, never, noMailbox}, // Exchange Online
		"550 No Such User Here":                                                     {accepted, never, noMailbox}, // cPanel
		"550 Unrouteable address":                                                   {accepted, never, noMailbox}, // Exim
		"513 5.1.2 Bad destination":                                                 {accepted, never, noMailbox},
		"556 5.1.10 null MX":                                                        {accepted, never, noMailbox}, // RFC 7505
		"550 Requested action not taken: mailbox unavailable":                       {accepted, never, noMailbox}, // RFC 5321
		"550 sorry, no mailbox here by that name (#5.1.1)":                          {accepted, never, noMailbox}, // qmail
		"552 5.2.2 Mailbox full":                                                    {accepted, never, nil},
		"552 Requested mail action aborted: exceeded storage allocation":            {accepted, never, nil},
		"550 5.2.1 The account is inactive":                                         {accepted, never, nil},
		"452 4.2.2 Mailbox full":                                                    {accepted, later, nil},
		"450 4.1.1 <ana@client.test>: Recipient address rejected: User unknown":     {accepted, later, nil},
		"550 5.1.1 <ana@client.test>: sender address rejected, relay access denied": {accepted, never, noMailbox},

		// Anything unclear.
		"550 no":                           {accepted, later, nil},
		"554 5.0.0 Transaction failed":     {accepted, later, nil},
		"554 5.3.0 out of order":           {accepted, later, nil},
		"550 host 5.1.1.8 said: not today": {accepted, later, nil},
		"550":                              {accepted, later, nil},
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			server := &scripted{replies: map[string]string{"RCPT": reply, ourSales: "250 ok"}}
			if c.sales != accepted {
				server.replies[ourSales] = c.sales
			}
			if c.sales == same {
				server.replies[ourSales] = reply
			}
			err := scriptedSender(t, server).Send(t.Context(), message("ana@client.test"))
			if kindOf(err) != c.kind {
				t.Errorf("the error is %v, want kind %q", err, c.kind)
			}
			for _, cause := range []error{noMailbox, refused} {
				if errors.Is(err, cause) != (c.cause == cause) {
					t.Errorf("the error is %v, want the cause %v", err, c.cause)
				}
			}
			if asked := len(server.seen(ourSales)) > 0; asked != (c.sales != accepted || c.cause == refused) {
				t.Errorf("the server was asked for sales: %v", asked)
			}
		})
	}
}

// The step does not decide what a refusal means, but how the service finds out: what is
// refused before the recipient concerns all mails, and after the data nothing is asked and
// nothing pauses, because the mail may be to blame.
func TestMeaningByStep(t *testing.T) {
	t.Parallel()
	const relay, limit, policy = "554 5.7.1 Relay access denied", "550 5.4.5 Daily user sending limit exceeded", "554 5.7.1 spam"
	for name, c := range map[string]struct {
		replies map[string]string
		kind    upstream.Kind
		refused bool
		asked   []string // what the server gets after the refusal
	}{
		"the sender, always":       {map[string]string{"MAIL": "550 no"}, upstream.Refused, false, []string{"RSET", "MAIL"}},
		"the recipient, and sales": {map[string]string{"RCPT": relay}, upstream.Refused, false, []string{"RSET", "MAIL", "RCPT"}},
		"only the recipient": {
			map[string]string{"RCPT": relay, ourSales: "250 ok"}, upstream.Rejected, true, []string{"RSET", "MAIL", "RCPT", "RSET"},
		},
		"the data, and sales": {map[string]string{"DATA": limit, ourSales: limit}, upstream.Refused, false, []string{"RSET", "MAIL", "RCPT"}},
		"only the data":       {map[string]string{"DATA": limit}, upstream.Unavailable, false, []string{"RSET", "MAIL", "RCPT", "RSET"}},
		"a limit in the end":  {map[string]string{".": limit, ourSales: limit}, upstream.Unavailable, false, nil},
		"a policy in the end": {map[string]string{".": policy, ourSales: policy}, upstream.Rejected, true, nil},
		// Every visitor's mail has an attachment, so what is refused here may be all of them.
		"its content in the end": {map[string]string{".": "554 5.6.1 Attachment type"}, upstream.Rejected, true, nil},
		"no reason in the end":   {map[string]string{".": "554 Message rejected"}, upstream.Rejected, true, nil},
		"no reason for the data": {map[string]string{"DATA": "554 no"}, upstream.Rejected, true, nil},
		"the mailbox in the end": {map[string]string{".": "552 5.2.2 Mailbox full"}, upstream.Rejected, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &scripted{replies: c.replies}
			err := scriptedSender(t, server).Send(t.Context(), message("ana@client.test"))
			if kindOf(err) != c.kind || errors.Is(err, mail.ErrRefused) != c.refused {
				t.Errorf("the error is %v, want kind %q, refused: %v", err, c.kind, c.refused)
			}
			var asked []string
			if seen := server.seen(""); slices.Contains(seen, "RSET") {
				asked = seen[slices.Index(seen, "RSET"):]
			}
			if last := len(asked) - 1; last > 0 && asked[last] == "QUIT" {
				asked = asked[:last]
			}
			if !slices.Equal(asked, c.asked) {
				t.Errorf("after the refusal the server got %v, want %v", asked, c.asked)
			}
		})
	}
}

// An address of sales that is refused itself is compared with another one.
func TestRefusedSales(t *testing.T) {
	t.Parallel()
	for reply, kind := range map[string]upstream.Kind{"250 ok": upstream.Rejected, "550 relay not permitted": upstream.Refused} {
		server := &scripted{replies: map[string]string{ourSales: "550 relay not permitted", ourSales2: reply}}
		if err := scriptedSender(t, server).Send(t.Context(), message(ourSales)); kindOf(err) != kind {
			t.Errorf("%s: the error is %v, want %s", reply, err, kind)
		}
	}
}

// The check goes as far as the addresses of sales, without sending a mail.
func TestCheckAsksForSales(t *testing.T) {
	t.Parallel()
	server := &scripted{}
	found, err := scriptedSender(t, server).Check(t.Context())
	must(t, err)
	if got := server.seen(""); !slices.Equal(got, []string{"EHLO", "MAIL", "RCPT", "RCPT", "RSET", "QUIT"}) {
		t.Errorf("the server got %v, and the check found %s", got, found)
	}
	server = &scripted{replies: map[string]string{ourSales2: "550 5.1.1 User unknown"}}
	if _, err := scriptedSender(t, server).Check(t.Context()); !errors.Is(err, mail.ErrNoMailbox) {
		t.Errorf("the error is %v, want that of the second address", err)
	}
}

func scriptedSender(t *testing.T, server *scripted) *smtp.Sender {
	t.Helper()
	addr := server.start(t)
	u, _ := smtp.ParseURL("smtp://localhost")
	return smtp.New(smtp.Options{
		URL:     u,
		From:    "quotes@lumen.test",
		SalesTo: []string{ourSales, ourSales2},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return hurried{conn}, err
		},
	})
}
