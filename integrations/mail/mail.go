// Package mail is the contract with the mail server that accepts the service's mails.
// Drivers live in the folders below. Failures are *upstream.Error:
//
//   - Unavailable, or Limited with the time to wait: the server can't accept the mail now.
//     If the mail was handed over and no response came, the cause is [lead.ErrUnconfirmed].
//   - Refused: the server accepts no mail from this service until an operator changes a
//     setting.
//   - Rejected: the server does not accept this mail or this recipient. The cause may be
//     [ErrNoMailbox] or [ErrRefused].
package mail

import (
	"context"
	"errors"
	"net/mail"
	"strings"
)

// Message is one mail to one recipient.
type Message struct {
	// ID is the Message-ID without its angle brackets. A repeated mail has the same one.
	ID string
	// Name identifies the mail in file names. It begins with the id of the lead.
	Name string

	From    mail.Address
	To      string // a bare address
	ReplyTo string // a bare address; empty: the sender's
	Subject string
	Locale  string

	Text, HTML  string
	Logo        []byte // PNG or JPEG that the HTML shows as cid:[LogoID]; nil: none
	Attachments []Attachment

	// HandOver is called before the first byte that the server may accept. If it fails, the
	// mail is not sent. It may be nil.
	HandOver func() error
}

// Attachment is a file that is sent with a mail.
type Attachment struct {
	Name        string
	ContentType string
	Content     []byte
}

// LogoID is the content id of a message's logo.
const LogoID = "logo@mail"

// Causes of a rejection.
var (
	// ErrNoMailbox means that the server does not know the recipient.
	ErrNoMailbox = errors.New("there is no such mailbox")

	// ErrRefused means that the server refused this mail for a reason that may be ours,
	// such as a policy, relaying or the content. It is not known to refuse all mails.
	ErrRefused = errors.New("other mails may be refused for the same reason")
)

// Sender hands mails to a mail server.
type Sender interface {
	// Send returns nil once the server has accepted the mail.
	Send(ctx context.Context, m *Message) error
	// Check verifies that mails to sales can be sent, without sending one, and describes
	// the result.
	Check(ctx context.Context) (string, error)
}

// Domain returns the domain of a bare address.
func Domain(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// ASCII reports whether a mail server needs no SMTPUTF8 for a bare address. The domain is
// always sent in ASCII.
func ASCII(address string) bool {
	return !strings.ContainsFunc(strings.TrimSuffix(address, Domain(address)),
		func(r rune) bool { return r > '~' })
}

// testDomains are the domains that RFC 2606 reserves. Mails to them never arrive.
var testDomains = []string{
	"test", "example", "invalid", "localhost", "example.com", "example.net", "example.org",
}

// IsTest reports whether an address is in a domain that is reserved for tests and
// examples.
func IsTest(address string) bool {
	domain := "." + strings.TrimSuffix(strings.ToLower(Domain(address)), ".")
	for _, name := range testDomains {
		if strings.HasSuffix(domain, "."+name) {
			return true
		}
	}
	return false
}
