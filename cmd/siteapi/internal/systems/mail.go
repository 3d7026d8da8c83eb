package systems

import (
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/integrations/mail"
	"siteapi/resolvers/leadmail"
)

// Mail returns the driver that sends mails, or nil if mails are off.
func (o Opener) Mail() mail.Sender {
	if driver := o.mailDriver(); driver.open != nil {
		sender, _ := driver.open() // a mail driver does no I/O yet
		return sender
	}
	return nil
}

// Mails returns the service that writes and sends mails about leads, with the given store,
// content and PDFs. Without a store it can only write them.
func (o Opener) Mails(m leadmail.Service) *leadmail.Service {
	s := o.Settings
	m.Settings = leadmail.Settings{
		SiteURL:     s.SiteURL,
		Inbox:       o.inboxURL(),
		Sender:      o.Mail(),
		From:        s.MailFrom,
		SalesTo:     s.SalesMailTo,
		SalesLocale: s.SalesLocale,
		Visitors:    s.VisitorMail,
		RefuseTests: s.Environment != config.Development,
	}

	if s.RateLimits {
		m.PerHour = s.VisitorMailsPerHour
	}
	m.Log = o.Log
	return &m
}

// inboxURL returns the public address of the inbox, or an empty string if it has none.
func (o Opener) inboxURL() string {
	if s := o.Settings; s.SiteURL != "" && s.AdminPage {
		return s.SiteURL + inbox.Path
	}
	return ""
}
