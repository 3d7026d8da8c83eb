package apptest

import (
	"bytes"
	"net/mail"
	"testing"

	"siteapi/integrations/mail/smtp/smtptest"
)

// MailServer starts a mail server, and returns the settings of a service that uses it.
func MailServer(t *testing.T, o smtptest.Options) (*smtptest.Server, map[string]string) {
	t.Helper()
	server, err := smtptest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server, map[string]string{
		"SMTP_URL":      "smtp://" + server.Addr,
		"MAIL_FROM":     "quotes@lumen.test",
		"SALES_MAIL_TO": "sales@lumen.test",
		"SITE_URL":      "https://lumen.test",
		"ADMIN_PAGE":    "on",
	}
}

// MailsTo returns the mails that a server accepted for an address.
func MailsTo(server *smtptest.Server, address string) []*mail.Message {
	var found []*mail.Message
	for _, m := range server.Mails() {
		if m.To == address {
			parsed, err := mail.ReadMessage(bytes.NewReader(m.Data))
			if err != nil {
				panic(err)
			}
			found = append(found, parsed)
		}
	}
	return found
}
