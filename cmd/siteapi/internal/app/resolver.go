package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
	"siteapi/integrations/turnstile"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/live"
	"siteapi/resolvers/operators"
	"siteapi/resolvers/quotepdf"
	"siteapi/resolvers/quotes"
	"siteapi/resolvers/retention"
	"siteapi/schema"
)

// newResolver makes the resolvers of all fields, the mails about leads and the job that
// deletes what is too old.
func (a *App) newResolver(
	source cmsDriver, contacts crmDriver, entries cache.Cache, verifier *turnstile.Verifier,
) error {
	s := a.settings
	documents, err := newPDFs(s, a.content, entries, a.Data.Quotes, a.log, a.Metrics)
	if err != nil {
		return err
	}

	a.Mails = leadmail.New(leadmail.Deps{
		Settings: mailSettings(s, openMail(s, a.Metrics)),
		Claims:   a.Data.Tables,
		Quotes:   a.Data.Quotes,
		Queue:    a.Data.Queue,
		Content:  a.content,
		PDFs:     documents,
		Log:      a.log,
		Now:      time.Now,
	})

	rules := &leads.Service{
		Archive:    a.Data.Archive,
		Work:       a.Data.Tables,
		Deliveries: a.Data.Tables,
		Outcomes:   a.Data.Tables,
		Queue:      a.Data.Queue,
		CMS:        source,
		CRM:        contacts,
		Mails:      mailfile.Open(s.MailPath()),
		Truncate:   a.Data.Truncate,
		ClearPDFs:  entries.Clear,
		OutOfReach: command.OutOfReach(s),
		Options: func(ctx context.Context) map[string]string {
			if snap, err := a.content.ReadSoon(ctx, schema.LocaleOrDefault("")); err == nil {
				return snap.Labels
			}
			return nil
		},
	}

	a.resolver = &resolvers.Resolver{
		Quotes:      a.newQuotes(verifier),
		PDFs:        documents,
		Operators:   a.newOperators(rules),
		Content:     a.content,
		Cache:       entries,
		Checks:      slices.Concat(command.Checks(s), a.checks(rules, entries)),
		Version:     Version(),
		Log:         a.log,
		Development: s.Environment == config.Development,
		Count:       a.Metrics.Event,
	}
	a.retention = &retention.Job{
		Sessions:   s.TrackRetention,
		Leads:      s.LeadRetention,
		Audit:      s.AuditRetention,
		Archive:    a.Data.Archive,
		Tables:     a.Data.Tables,
		Log:        a.log,
		ForgetPDFs: documents.Forget,
	}
	return nil
}

// newPDFs returns what draws the PDFs of leads.
func newPDFs(
	s *config.Settings, site *content.Service, entries cache.Cache, stored store.Quotes,
	log zerolog.Logger, m *telemetry.Metrics,
) (*quotepdf.Resolver, error) {
	logo, err := pdf.NewLogoLoader(pdf.LogoOptions{AllowedHosts: s.LogoHosts})
	if err != nil {
		return nil, fmt.Errorf("LOGO_HOSTS: %w", err)
	}

	return quotepdf.New(quotepdf.Deps{
		Content:         site,
		Cache:           entries,
		Quotes:          stored,
		PDF:             pdf.New(log),
		Logo:            logo,
		TimeZone:        s.TimeZone,
		Log:             log,
		ObserveDatabase: m.Database,
	}), nil
}

// newQuotes returns the resolver of what visitors do.
func (a *App) newQuotes(verifier *turnstile.Verifier) *quotes.Resolver {
	return quotes.New(quotes.Deps{
		Content:         a.content,
		Quotes:          a.Data.Quotes,
		Prices:          a.Data.Tables,
		Log:             a.log,
		Now:             time.Now,
		NewID:           func() string { return strings.ToLower(rand.Text()) },
		Network:         a.Mails.NetworkHash,
		Limiter:         a.limiter,
		MinTime:         a.settings.SpamMinTime,
		TrackContact:    a.settings.TrackContact,
		Challenge:       verifier,
		Count:           a.Metrics.Event,
		ObserveDatabase: a.Metrics.Database,
	})
}

// newOperators returns the resolver of what operators see and do.
func (a *App) newOperators(rules *leads.Service) *operators.Resolver {
	return &operators.Resolver{Deps: operators.Deps{
		Leads:   rules,
		Persons: a.Data.Tables,
		Audit:   a.Data.Tables,
		Logins:  a.Data.Tables,
		Live:    &live.Feed{Changes: a.Data.Tables, Log: a.log},
		Mails:   a.Mails,
		Log:     a.log,
		Now:     time.Now,
	}}
}

// checks returns the checks of what the service depends on, with what it has open.
func (a *App) checks(rules *leads.Service, entries cache.Cache) []health.Check {
	d := health.Dependencies{
		Database: func(context.Context) (store.Quotes, *leads.Service, error) {
			return a.Data.Quotes, rules, nil
		},
		Cache:        func(context.Context) (cache.Cache, error) { return entries, nil },
		CMS:          func() (cms.Content, cms.Eraser, error) { return a.content.CMS, rules.CMS, nil },
		CRM:          func() (crm.Lookup, error) { return rules.CRM, nil },
		Notes:        func(context.Context) (health.Notes, error) { return a.Data.Tables, nil },
		ContentTypes: a.settings.ContentTypes,
		Preview:      len(a.settings.PreviewTokens) > 0,
	}
	if a.settings.SMTPURL != nil { // else mails are files, if there are any
		d.Mail, d.Networks = a.Mails.Sender, a.Data.Tables.MailNetworks
	}
	return d.Checks()
}
