package smtp

import (
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	gosmtp "github.com/wneessen/go-mail/smtp"

	"siteapi/integrations/mail"
	"siteapi/integrations/upstream"
)

// meaning is what a mail server's refusal (5yz) is about. The step does not show it:
// Postfix and Exim refuse the sender, the login and relaying only at RCPT TO.
type meaning int

const (
	unclear   meaning = iota
	open              // what may be ours; the server's second reply did not decide it
	ours              // the sender's address, the login, relaying, a limit, or this machine
	policy            // a policy or the content, which may concern all mails or this one
	onlyHere          // what may be ours, although another recipient is accepted
	mailbox           // the state of the mailbox
	noMailbox         // the mailbox or its domain does not exist
)

// meanings are the patterns of a reply, of which the first one decides: enhanced codes
// (RFC 3463), which qmail writes as (#5.1.1) at the end, and words of common servers.
var meanings = []struct {
	meaning
	pattern *regexp.Regexp
}{
	{ours, regexp.MustCompile(`^53[0458] |(^5\d\d |#)5\.(1\.[78]|7\.[89])\b`)},
	{noMailbox, regexp.MustCompile(`(^5\d\d |#)5\.1\.([1236]|10)\b`)},
	{mailbox, regexp.MustCompile(`(^5\d\d |#)5\.2\.[12]\b|` +
		`mailbox[^.\n]* (full|limit|quota|exceed)|over ?quota|storage allocation`)},
	{ours, regexp.MustCompile(`sender|from address|mail from|\bsend as|\be?helo\b|client host|` +
		`relay(ing)? (access |is )?(not|denied|disallowed|prohibited)|to relay|rcpthosts|delivery is not allowed|` +
		`auth(\b|enticat|oriz)|log(ged|ging)? ?in\b|credential|not verified|verif(y|ication) failed|` +
		`limit|quota|exceeded|too many|throttl|paused|blocked|black ?list|\brbl\b`)},
	{policy, regexp.MustCompile(`(^5\d\d |#)5\.[67]\.\d+\b`)},
	{noMailbox, regexp.MustCompile(
		`(unknown|no such|invalid|bad) (local )?(user|recipient|mailbox|address|account)|` +
			`(user|recipient|mailbox|address|account)[^.\n]* (unknown|not found|unavailable|disabled|rejected)|` +
			`not exist|n't exist|no mailbox|unroute?able`)},
}

// meaningOf returns the meaning of a refusal. A visitor chose the recipient's address, so
// that decides nothing.
func meaningOf(reply, to string) meaning {
	reply = strings.ReplaceAll(strings.ToLower(reply), strings.ToLower(to), "")
	for _, m := range meanings {
		if m.pattern.MatchString(reply) {
			return m.meaning
		}
	}
	return unclear
}

// refusal returns a server's reply if it is final, or an empty text.
func refusal(err error) string {
	if reply, ok := errors.AsType[*textproto.Error](err); ok && reply.Code >= 500 {
		return fmt.Sprint(reply.Code, " ", reply.Msg)
	}
	return ""
}

// meaning returns what the refusal of a mail is about. If it may be ours, the server is
// asked at once for another recipient, an address of sales: one visitor must not stop all
// mails. After the data it is not asked, since a repetition would be a second mail.
func (s *Sender) meaning(c *gosmtp.Client, at step, to string, err error) meaning {
	means := meaningOf(refusal(err), to)
	if at == sender {
		means = ours // the recipient is not yet known
	}
	if at >= acceptance || means != ours && means != policy {
		return means
	}

	other := to
	for _, address := range s.SalesTo {
		if other == to {
			other = address
		}
	}
	_ = c.Reset() // ends the refused transaction
	again := s.offer(c, other)

	switch likewise := meaningOf(refusal(again), other); {
	case again == nil && at == recipient:
		return onlyHere
	case refusal(again) != "" && (at == sender || likewise == ours || likewise == policy):
		return ours
	case at == content && means == policy:
		return policy
	}
	return open
}

// offer has the server accept or refuse the sender and recipients, without sending a mail.
func (s *Sender) offer(c *gosmtp.Client, recipients ...string) error {
	c.SkipSMTPUTF8(!slices.ContainsFunc(recipients, func(to string) bool { return !mail.ASCII(to) }))
	if err := c.Mail(envelope(s.From)); err != nil {
		return err
	}
	for _, to := range recipients {
		if err := c.Rcpt(envelope(to)); err != nil {
			return err
		}
	}
	return c.Reset()
}

// kind returns the kind and the cause of the error after a refusal.
func (m meaning) kind(at step) (upstream.Kind, error) {
	switch {
	case at <= encoding, m == ours && at < acceptance:
		return upstream.Refused, nil
	case m == noMailbox:
		return upstream.Rejected, mail.ErrNoMailbox
	case m == onlyHere, m == policy, m == unclear && at >= content:
		return upstream.Rejected, mail.ErrRefused
	case m == mailbox:
		return upstream.Rejected, nil
	}
	return upstream.Unavailable, nil
}
