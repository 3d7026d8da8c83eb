package systems

import (
	"crypto/sha256"
	"strings"
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

// Mails returns the service that writes and sends mails about leads.
func (o Opener) Mails(d leadmail.Deps) *leadmail.Service {
	d.Settings, d.Log, d.Now = o.mailSettings(), o.Log, time.Now
	return leadmail.New(d)
}

// mailSettings returns the settings of mails about leads.
func (o Opener) mailSettings() leadmail.Settings {
	s := o.Settings
	inboxURL := ""
	if s.SiteURL != "" && s.AdminPage {
		inboxURL = s.SiteURL + inbox.Path
	}

	// All instances derive the same key, which is not in the database. A new key resets
	// the counts of mails to visitors.
	secret := strings.Join(s.CacheTokens, ",")
	if s.SMTPURL != nil {
		secret += "\x00" + s.SMTPURL.String()
	}
	key := sha256.Sum256([]byte("mails to visitors\x00" + secret))

	perHour := s.VisitorMailsPerHour
	if !s.RateLimits {
		perHour = 0
	}
	return leadmail.Settings{
		Sender:      o.Mail(),
		From:        s.MailFrom,
		SalesTo:     s.SalesMailTo,
		SalesLocale: s.SalesLocale,
		Visitors:    s.VisitorMail,
		PerHour:     perHour,
		Inbox:       inboxURL,
		Key:         key[:],
		RefuseTests: s.Environment != config.Development,
	}
}
