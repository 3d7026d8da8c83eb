package app

import (
	"crypto/sha256"
	"strings"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/integrations/mail"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/mail/smtp"
	"siteapi/resolvers/content"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/quotepdf"
)

// openMail returns the driver that sends mails, or nil if mails are off.
func (d drivers) openMail(s *config.Settings) mail.Sender {
	switch {
	case s.SMTPURL != nil:
		return smtp.New(smtp.Options{URL: s.SMTPURL, From: s.MailFrom.Address, Observe: d.Metrics.Call})
	case s.Mails():
		return mailfile.Open(s.MailPath())
	}
	return nil
}

// mailSettings returns the settings of mails about leads.
func mailSettings(s *config.Settings, sender mail.Sender) leadmail.Settings {
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
		Sender:      sender,
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

// newMails returns the service that writes and sends mails about leads.
func (sys *systems) newMails(site *content.Service, pdfs *quotepdf.Resolver) *leadmail.Service {
	return leadmail.New(leadmail.Deps{
		Settings: mailSettings(sys.Settings, sys.openMail(sys.Settings)),
		Store:    sys.Data.Store,
		Queue:    sys.Data.Queue,
		Content:  site,
		PDFs:     pdfs,
		Log:      sys.log,
		Now:      time.Now,
	})
}

// newMailer returns the mail service of commands, which composes mails and cannot send
// them.
func (d drivers) newMailer(s *config.Settings, leads quotepdf.LeadStore) (*leadmail.Service, error) {
	site, err := d.openContent(s)
	if err != nil {
		return nil, err
	}

	documents, err := d.newPDFs(s, site, site.Cache, leads)
	if err != nil {
		return nil, err
	}

	return leadmail.New(leadmail.Deps{
		Settings: mailSettings(s, nil),
		Content:  site,
		PDFs:     documents,
		Log:      d.log,
		Now:      time.Now,
	}), nil
}
