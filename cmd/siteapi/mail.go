package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/mail"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/mail/smtp"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
)

// openMail returns the driver that takes the mails, or nil if none are sent.
func openMail(s *config.Settings, m *telemetry.Metrics) mail.Sender {
	switch {
	case s.SMTPURL != nil:
		return smtp.New(smtp.Options{URL: s.SMTPURL, From: s.MailFrom.Address, Observe: m.Call})
	case s.Mails():
		return mailfile.Open(s.MailPath())
	}
	return nil
}

// mailSettings returns what the resolvers need to send mails.
func mailSettings(s *config.Settings, sender mail.Sender, claims store.Mails) resolvers.Mail {
	inboxURL := ""
	if s.SiteURL != "" && s.AdminPage {
		inboxURL = s.SiteURL + inbox.Path
	}

	// The key is the same on all instances, and not in the database.
	secret := strings.Join(s.CacheTokens, ",")
	if s.SMTPURL != nil {
		secret += "\x00" + s.SMTPURL.String()
	}
	key := sha256.Sum256([]byte("mails to visitors\x00" + secret))

	return resolvers.Mail{
		Sender:      sender,
		Claims:      claims,
		From:        s.MailFrom,
		SalesTo:     s.SalesMailTo,
		Visitors:    s.VisitorMail,
		Inbox:       inboxURL,
		Key:         key[:],
		RefuseTests: s.Environment != config.Development,
	}
}

// newMailer returns resolvers that write mails, for the commands. They send none.
func newMailer(s *config.Settings, log zerolog.Logger, m *telemetry.Metrics, quotes store.Quotes) (*resolvers.Resolver, error) {
	source, err := openCMS(s, log, m)
	if err != nil {
		return nil, err
	}

	logo, err := pdf.NewLogoLoader(pdf.LogoOptions{AllowedHosts: s.LogoHosts})
	if err != nil {
		return nil, fmt.Errorf("LOGO_HOSTS: %w", err)
	}

	entries := memory.New()
	return resolvers.New(resolvers.Deps{
		Content: content.New(content.Options{
			CMS:         source,
			Cache:       entries,
			Log:         log,
			Now:         time.Now,
			Source:      contentSource(s),
			Types:       s.ContentTypes,
			Life:        cache.Lifetime{Fresh: s.ContentTTL},
			FallbackDir: contentDir(s),
		}),
		Cache:  entries,
		Quotes: quotes,
		Logo:   logo,
		PDF:    pdf.New(log),
		Log:    log,
		Now:    time.Now,
		Mail:   mailSettings(s, nil, nil),
	}), nil
}
