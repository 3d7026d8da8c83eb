// Package eml encodes mails in the format of RFC 5322, for all drivers.
package eml

import (
	"bytes"
	"fmt"
	"net/http"
	"net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"siteapi/integrations/lead"
	contract "siteapi/integrations/mail"
	"siteapi/integrations/mail/mailbox"
)

// Encode returns a mail in the format of RFC 5322, dated now.
func Encode(m *contract.Message) ([]byte, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.SetMessageIDWithValue(m.ID)
	msg.SetDateWithValue(time.Now().UTC())
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("Content-Language", m.Locale)
	// The invisible joiner prevents a mail program from decoding what was typed.
	msg.Subject(strings.ReplaceAll(lead.OneLine(m.Subject), "=?", "=\u2060?"))

	from, err := Address(m.From.Address)
	if err != nil {
		return nil, fmt.Errorf("the sender: %w", err)
	}
	from.Name = lead.OneLine(m.From.Name)
	msg.FromMailAddress(from)
	to, err := Address(m.To)
	if err != nil {
		return nil, fmt.Errorf("the recipient: %w", err)
	}
	msg.ToMailAddress(to)
	// An invalid reply address must not stop the mail.
	if reply, err := Address(m.ReplyTo); err == nil {
		msg.ReplyToMailAddress(reply)
	}

	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	if m.Logo != nil {
		msg.EmbedReadSeeker("logo", bytes.NewReader(m.Logo),
			gomail.WithFileContentID("<"+contract.LogoID+">"),
			gomail.WithFileContentType(gomail.ContentType(http.DetectContentType(m.Logo))))
	}
	for _, a := range m.Attachments {
		msg.AttachReadSeeker(a.Name, bytes.NewReader(a.Content),
			gomail.WithFileContentType(gomail.ContentType(a.ContentType)))
	}
	var out bytes.Buffer
	if _, err := msg.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("writing the mail: %w", err)
	}
	return out.Bytes(), nil
}

// Address parses a bare address and converts its domain to ASCII. [mail.Address.String]
// quotes the local part if necessary. The error does not repeat the address.
func Address(bare string) (*mail.Address, error) {
	local, domain, err := mailbox.Split(bare)
	if err != nil {
		return nil, err
	}
	return &mail.Address{Address: local + "@" + domain}, nil
}
