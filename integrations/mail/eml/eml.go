// Package eml writes mails in the format of RFC 5322, as every driver sends them.
package eml

import (
	"bytes"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"

	contract "siteapi/integrations/mail"
)

// Encode returns the mail as it is sent.
func Encode(m *contract.Message) ([]byte, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.SetMessageIDWithValue(m.ID)
	msg.SetDateWithValue(m.Date)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("Content-Language", m.Locale)
	msg.Subject(oneLine(m.Subject))

	from, err := Address(m.From.Address)
	if err != nil {
		return nil, fmt.Errorf("the sender: %w", err)
	}
	from.Name = oneLine(m.From.Name)
	msg.FromMailAddress(from)
	to, err := Address(m.To)
	if err != nil {
		return nil, fmt.Errorf("the recipient: %w", err)
	}
	msg.ToMailAddress(to)
	// A mail without an address for replies is better than none.
	if reply, err := Address(m.ReplyTo); err == nil {
		msg.ReplyToMailAddress(reply)
	}

	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	if m.Logo != nil {
		msg.EmbedReadSeeker("logo", bytes.NewReader(m.Logo), gomail.WithFileContentID("<"+contract.LogoID+">"),
			gomail.WithFileContentType(imageType(m.Logo)))
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

// Address returns a bare address as servers take it: its domain in ASCII. The error does not repeat it.
func Address(bare string) (*mail.Address, error) {
	at := strings.LastIndexByte(bare, '@')
	if at < 1 || strings.ContainsFunc(bare, unicode.IsControl) {
		return nil, errors.New("not an address")
	}

	domain, err := idna.Lookup.ToASCII(bare[at+1:])
	if err != nil || domain == "" {
		return nil, errors.New("its domain can't be looked up")
	}

	local := bare[:at]
	switch {
	case len(local) > 1 && local[0] == '"' && local[len(local)-1] == '"':
		local = unquote(local[1 : len(local)-1]) // it is quoted again where it is written
	case strings.ContainsAny(local, ` "(),:;<>@[\]`):
		return nil, errors.New("not an address")
	}

	return &mail.Address{Address: local + "@" + domain}, nil
}

// unquote removes the backslashes of a quoted string.
func unquote(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// oneLine joins the words of a text with single spaces, without control and direction characters.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.C, r)
	}), " ")
}

func imageType(image []byte) gomail.ContentType {
	if bytes.HasPrefix(image, []byte("\x89PNG")) {
		return "image/png"
	}
	return "image/jpeg"
}
