package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/operator"
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
func (a *app) newResolver(
	source cmsDriver, contacts crmDriver, entries cache.Cache, verifier *turnstile.Verifier,
) error {
	s := a.settings
	documents, err := newPDFs(s, a.content, entries, a.data.Quotes, a.log, a.metrics)
	if err != nil {
		return err
	}

	a.mails = leadmail.New(leadmail.Deps{
		Settings: mailSettings(s, openMail(s, a.metrics)),
		Claims:   a.data.Tables,
		Quotes:   a.data.Quotes,
		Queue:    a.data.Queue,
		Content:  a.content,
		PDFs:     documents,
		Log:      a.log,
		Now:      time.Now,
	})

	rules := &leads.Service{
		Archive:    a.data.Archive,
		Work:       a.data.Tables,
		Deliveries: a.data.Tables,
		Outcomes:   a.data.Tables,
		Queue:      a.data.Queue,
		CMS:        source,
		CRM:        contacts,
		Mails:      mailfile.Open(s.MailPath()),
		Truncate:   a.data.Truncate,
		ClearPDFs:  entries.Clear,
		OutOfReach: operator.OutOfReach(s),
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
		Checks:      slices.Concat(operator.Checks(s), a.checks(rules, entries)),
		Version:     versionText(),
		Log:         a.log,
		Development: s.Environment == config.Development,
		Count:       a.metrics.Event,
	}
	a.retention = &retention.Job{
		Sessions:   s.TrackRetention,
		Leads:      s.LeadRetention,
		Audit:      s.AuditRetention,
		Archive:    a.data.Archive,
		Tables:     a.data.Tables,
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
func (a *app) newQuotes(verifier *turnstile.Verifier) *quotes.Resolver {
	return quotes.New(quotes.Deps{
		Content:         a.content,
		Quotes:          a.data.Quotes,
		Prices:          a.data.Tables,
		Log:             a.log,
		Now:             time.Now,
		NewID:           func() string { return strings.ToLower(rand.Text()) },
		Network:         a.mails.NetworkHash,
		Limiter:         a.limiter,
		MinTime:         a.settings.SpamMinTime,
		TrackContact:    a.settings.TrackContact,
		Challenge:       verifier,
		Count:           a.metrics.Event,
		ObserveDatabase: a.metrics.Database,
	})
}

// newOperators returns the resolver of what operators see and do.
func (a *app) newOperators(rules *leads.Service) *operators.Resolver {
	return &operators.Resolver{Deps: operators.Deps{
		Leads:    rules,
		Audit:    a.data.Tables,
		Sessions: a.data.Tables,
		Live:     &live.Feed{Changes: a.data.Tables, Log: a.log},
		Mails:    a.mails,
		Log:      a.log,
		Now:      time.Now,
	}}
}

// checks returns the checks of what the service depends on, with what it has open.
func (a *app) checks(rules *leads.Service, entries cache.Cache) []health.Check {
	d := health.Dependencies{
		Database: func(context.Context) (store.Quotes, *leads.Service, error) {
			return a.data.Quotes, rules, nil
		},
		Cache:        func(context.Context) (cache.Cache, error) { return entries, nil },
		CMS:          func() (cms.Content, cms.Eraser, error) { return a.content.CMS, rules.CMS, nil },
		CRM:          func() (crm.Lookup, error) { return rules.CRM, nil },
		Notes:        func(context.Context) (health.Notes, error) { return a.data.Tables, nil },
		ContentTypes: a.settings.ContentTypes,
		Preview:      len(a.settings.PreviewTokens) > 0,
	}
	if a.settings.SMTPURL != nil { // else mails are files, if there are any
		d.Mail, d.Networks = a.mails.Sender, a.data.Tables.MailNetworks
	}
	return d.Checks()
}
