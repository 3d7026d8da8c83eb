package systems

import (
	"context"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/integrations/mail"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/mail/smtp"
	"siteapi/resolvers/leadmail"
)

// Mail returns the driver that sends mails, or nil if mails are off.
func (o Opener) Mail() mail.Sender {
	s := o.Settings
	switch {
	case s.SMTPURL != nil:
		return smtp.New(smtp.Options{URL: s.SMTPURL, From: s.MailFrom.Address, Observe: o.Metrics.Call})
	case s.Mails():
		return mailfile.Open(s.MailPath())
	}
	return nil
}

// Mails returns the service that writes and sends mails about leads. Without a store it
// can only write them.
func (o Opener) Mails(ctx context.Context, d leadmail.Deps) (_ *leadmail.Service, err error) {
	d.Settings, d.Log, d.Now = o.mailSettings(), o.Log, time.Now
	if d.Store != nil {
		d.Key, err = d.Store.HashKey(ctx)
	}
	return leadmail.New(d), err
}

// mailSettings returns the settings of mails about leads.
func (o Opener) mailSettings() leadmail.Settings {
	s := o.Settings
	inboxURL := ""
	if s.SiteURL != "" && s.AdminPage {
		inboxURL = s.SiteURL + inbox.Path
	}

	perHour := s.VisitorMailsPerHour
	if !s.RateLimits {
		perHour = 0
	}
	return leadmail.Settings{
		SiteURL:     s.SiteURL,
		Sender:      o.Mail(),
		From:        s.MailFrom,
		SalesTo:     s.SalesMailTo,
		SalesLocale: s.SalesLocale,
		Visitors:    s.VisitorMail,
		PerHour:     perHour,
		Inbox:       inboxURL,
		RefuseTests: s.Environment != config.Development,
	}
}
