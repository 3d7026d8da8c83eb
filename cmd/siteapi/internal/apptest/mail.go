package apptest

import (
	"bytes"
	"fmt"
	"net/mail"
	"testing"

	"siteapi/integrations/mail/smtp/smtptest"
)

// MailServer starts a mail server, and returns the settings of a service that uses it and
// retries soon, completed by others.
func MailServer(t *testing.T, o smtptest.Options, more ...string) (*smtptest.Server, []string) {
	t.Helper()
	server, err := smtptest.Start(o)
	must(t, err)
	t.Cleanup(server.Close)
	return server, append([]string{
		"SMTP_URL=smtp://" + server.Addr,
		"MAIL_FROM=quotes@lumen.test",
		"SALES_MAIL_TO=sales@lumen.test",
		"SITE_URL=https://lumen.test",
		"ADMIN_PAGE=on",
		Quick,
	}, more...)
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

// Mailed waits until a server has accepted n mails for an address, and returns the last.
func Mailed(t *testing.T, server *smtptest.Server, address string, n int) *mail.Message {
	t.Helper()
	var found []*mail.Message
	Eventually(t, fmt.Sprintf("%d mails to %s arrive", n, address), func() bool {
		found = MailsTo(server, address)
		return len(found) == n
	})
	return found[n-1]
}
