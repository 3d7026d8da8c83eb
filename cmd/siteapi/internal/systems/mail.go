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
	s := o.Settings
	d.Settings = leadmail.Settings{
		SiteURL:     s.SiteURL,
		Sender:      o.Mail(),
		From:        s.MailFrom,
		SalesTo:     s.SalesMailTo,
		SalesLocale: s.SalesLocale,
		Visitors:    s.VisitorMail,
		RefuseTests: s.Environment != config.Development,
	}
	if s.RateLimits {
		d.PerHour = s.VisitorMailsPerHour
	}
	if s.SiteURL != "" && s.AdminPage {
		d.Inbox = s.SiteURL + inbox.Path
	}

	d.Log, d.Now = o.Log, time.Now
	if d.Store != nil {
		d.Key, err = d.Store.HashKey(ctx)
	}
	return leadmail.New(d), err
}
