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
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/operators"
	"siteapi/resolvers/quotepdf"
	"siteapi/resolvers/quotes"
	"siteapi/resolvers/retention"
	"siteapi/schema"
)

// newContent returns the content service.
func newContent(
	s *config.Settings, log zerolog.Logger, m *telemetry.Metrics, sys *systems,
) *content.Service {
	return content.New(content.Options{
		CMS:      sys.cms,
		Watcher:  sys.cms,
		Cache:    sys.cache,
		Prices:   sys.data.Tables,
		Changing: sys.data.Queue.ContentChanging,

		Log:   log,
		Now:   time.Now,
		Count: m.Event,

		Source:      contentSource(s),
		Types:       s.ContentTypes,
		Life:        cache.Lifetime{Fresh: s.ContentTTL, Stale: 24 * time.Hour},
		FallbackDir: contentDir(s),
	})
}

// newPDFs returns what draws the PDFs of leads.
func newPDFs(
	s *config.Settings, log zerolog.Logger, m *telemetry.Metrics,
	site *content.Service, entries cache.Cache, stored store.Quotes,
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

// newPull returns what asks the CRM what became of leads, or nil if it does not know that.
func newPull(log zerolog.Logger, m *telemetry.Metrics, sys *systems) *leads.Pull {
	source, ok := sys.crm.(crm.Outcomes)
	if !ok {
		return nil
	}
	return &leads.Pull{
		CRM:      source,
		Notes:    sys.data.Tables,
		Archive:  sys.data.Archive,
		Outcomes: sys.data.Tables,
		Log:      log,
		Count:    m.Event,
	}
}

// newGauges returns the metrics of what is in the database and the queue.
func newGauges(
	s *config.Settings, sys *systems, site *content.Service, pull *leads.Pull,
) telemetry.Gauges {
	g := telemetry.Gauges{
		Queue:   sys.data.Queue,
		Archive: sys.data.Archive,
		Load:    sys.data.Load,
		Files:   sys.data.Files,
		Sizes:   sys.data.Sizes,

		RulesUnusable: site.RulesUnusable,
	}
	if s.CMSWatch {
		g.Watcher = sys.cms
	}
	if pull != nil {
		g.Pulled = pull.LastAt
	}
	return g
}

// newRetention returns the job that deletes what is too old.
func newRetention(
	s *config.Settings, log zerolog.Logger, data *command.Database, pdfs *quotepdf.Resolver,
) *retention.Job {
	return &retention.Job{
		Sessions:   s.TrackRetention,
		Leads:      s.LeadRetention,
		Audit:      s.AuditRetention,
		Archive:    data.Archive,
		Tables:     data.Tables,
		Log:        log,
		ForgetPDFs: pdfs.Forget,
	}
}

// newResolver returns the resolvers of all fields.
func newResolver(
	s *config.Settings, log zerolog.Logger, m *telemetry.Metrics, sys *systems, limits *httpserver.RateLimits,
	site *content.Service, pdfs *quotepdf.Resolver, mails *leadmail.Service,
) *resolvers.Resolver {
	rules := &leads.Service{
		Archive:    sys.data.Archive,
		Tables:     sys.data.Tables,
		Queue:      sys.data.Queue,
		CMS:        sys.cms,
		CRM:        sys.crm,
		Mails:      mailfile.Open(s.MailPath()),
		Truncate:   sys.data.Truncate,
		ClearPDFs:  sys.cache.Clear,
		OutOfReach: command.OutOfReach(s),
		Options: func(ctx context.Context) map[string]string {
			if snap, err := site.ReadSoon(ctx, schema.LocaleOrDefault("")); err == nil {
				return snap.Labels
			}
			return nil
		},
	}

	return &resolvers.Resolver{
		Quotes:      newQuotes(s, log, m, sys.data, site, limits, mails),
		PDFs:        pdfs,
		Operators:   newOperators(log, sys.data, rules, mails),
		Content:     site,
		Cache:       sys.cache,
		Checks:      slices.Concat(command.Checks(s), newChecks(s, sys, rules, mails)),
		Version:     Version(),
		Log:         log,
		Development: s.Environment == config.Development,
		Count:       m.Event,
	}
}

// newQuotes returns the resolver of what visitors do.
func newQuotes(
	s *config.Settings, log zerolog.Logger, m *telemetry.Metrics, data *command.Database,
	site *content.Service, limits *httpserver.RateLimits, mails *leadmail.Service,
) *quotes.Resolver {
	d := quotes.Deps{
		Content:         site,
		Quotes:          data.Quotes,
		Prices:          data.Tables,
		Log:             log,
		Now:             time.Now,
		NewID:           func() string { return strings.ToLower(rand.Text()) },
		Network:         mails.NetworkHash,
		MinTime:         s.SpamMinTime,
		TrackContact:    s.TrackContact,
		Challenge:       openChallenge(s, m),
		Count:           m.Event,
		ObserveDatabase: m.Database,
	}

	if limits != nil {
		d.Limiter = limits.Shared
	}
	return quotes.New(d)
}

// newOperators returns the resolver of what operators see and do.
func newOperators(
	log zerolog.Logger, data *command.Database, rules *leads.Service, mails *leadmail.Service,
) *operators.Resolver {
	return &operators.Resolver{
		Leads: rules,
		Mails: mails,
		Log:   log,
		Now:   time.Now,
	}
}

// newChecks returns the checks of what the service depends on, with what it has open.
func newChecks(
	s *config.Settings, sys *systems, rules *leads.Service, mails *leadmail.Service,
) []health.Check {
	d := health.Dependencies{
		Database: func(context.Context) (store.Quotes, *leads.Service, error) {
			return sys.data.Quotes, rules, nil
		},
		Cache:        func(context.Context) (cache.Cache, error) { return sys.cache, nil },
		CMS:          func() (cms.Content, cms.Eraser, error) { return sys.cms, rules.CMS, nil },
		CRM:          func() (crm.Lookup, error) { return rules.CRM, nil },
		ContentTypes: s.ContentTypes,
		Preview:      len(s.PreviewTokens) > 0,
	}
	if s.SMTPURL != nil { // else mails are files, if there are any
		d.Mail, d.Networks = mails.Sender, sys.data.Tables.MailNetworks
	}
	return d.Checks()
}
