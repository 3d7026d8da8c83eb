package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/pdf"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/funnel"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/quotepdf"
	"siteapi/resolvers/quotes"
	"siteapi/resolvers/retention"
	"siteapi/schema"
)

func (sys *systems) newContent() *content.Service {
	return content.New(content.Options{
		CMS:     sys.cms,
		Watcher: sys.cms,
		Cache:   sys.cache,
		Prices:  sys.Data.Store,
		Changed: sys.Data.Queue.ContentChanged,

		Log:   sys.log,
		Now:   time.Now,
		Count: sys.Metrics.Event,

		Source:      contentSource(sys.Settings),
		Types:       sys.ContentTypes,
		Life:        cache.Lifetime{Fresh: sys.ContentTTL, Stale: 24 * time.Hour},
		FallbackDir: filepath.Join(sys.DataDir, "content"),
	})
}

// newPDFs returns the resolver that renders the PDFs of leads.
func (d drivers) newPDFs(
	s *config.Settings, site *content.Service, entries cache.Cache, stored quotepdf.LeadStore,
) (*quotepdf.Resolver, error) {
	logo, err := pdf.NewLogoLoader(pdf.LogoOptions{AllowedHosts: s.LogoHosts})
	if err != nil {
		return nil, fmt.Errorf("LOGO_HOSTS: %w", err)
	}

	return quotepdf.New(quotepdf.Deps{
		Content:         site,
		Cache:           entries,
		Quotes:          stored,
		PDF:             pdf.New(d.log),
		Logo:            logo,
		TimeZone:        s.TimeZone,
		Log:             d.log,
		ObserveDatabase: d.Metrics.Database,
	}), nil
}

// newPull returns the job that reads outcomes of leads from the CRM, or nil if it has
// none.
func (sys *systems) newPull() *leads.Pull {
	source, ok := sys.crm.(crm.Outcomes)
	if !ok {
		return nil
	}
	return &leads.Pull{
		CRM:   source,
		Store: sys.Data.Store,
		Log:   sys.log,
		Count: sys.Metrics.Event,
	}
}

// newGauges returns the metrics of the database, the queue and the background work.
func (sys *systems) newGauges(site *content.Service, pull *leads.Pull) telemetry.Gauges {
	g := telemetry.Gauges{
		Queue: sys.Data.Queue,
		Store: sys.Data.Store,
		Load:  sys.Data.Load,
		Files: sys.Data.Files,
		Sizes: sys.Data.Sizes,

		RulesUnusable: site.RulesUnusable,
	}
	if sys.CMSWatch {
		g.Watcher = sys.cms
	}
	if pull != nil {
		g.Pulled = pull.LastAt
	}
	return g
}

// newRetention returns the job that deletes expired data.
func (sys *systems) newRetention(pdfs *quotepdf.Resolver) *retention.Job {
	return &retention.Job{
		Sessions:   sys.TrackRetention,
		Leads:      sys.LeadRetention,
		Audit:      sys.AuditRetention,
		Store:      sys.Data.Store,
		Log:        sys.log,
		ForgetPDFs: pdfs.Forget,
	}
}

// newResolver returns the resolvers of all fields.
func (sys *systems) newResolver(
	limits *httpserver.RateLimits, site *content.Service, pdfs *quotepdf.Resolver, mails *leadmail.Service,
) *resolvers.Resolver {
	leads := sys.newLeads(sys.Settings, sys.Data, mails)
	leads.CMS, leads.CRM, leads.MailFiles = sys.cms, sys.crm, mailfile.Open(sys.MailPath())
	leads.ClearPDFs = func(ctx context.Context) (int, error) {
		return sys.cache.Clear(ctx, lead.PDFKeys+"*")
	}
	options := func(ctx context.Context) map[string]string {
		if snap, err := site.ReadSoon(ctx, schema.LocaleOrDefault("")); err == nil {
			return snap.Labels
		}
		return nil
	}

	webhooks := &health.Webhooks{Notes: sys.Data.Store, Log: sys.log}
	return &resolvers.Resolver{
		Quotes:      sys.newQuotes(site, limits, mails),
		PDFs:        pdfs,
		Leads:       leads,
		Operators:   leads.Operators,
		Funnel:      &funnel.Resolver{Store: sys.Data.Store, Options: options},
		Content:     site,
		Cache:       sys.cache,
		Checks:      slices.Concat(command.Checks(sys.Settings), sys.newChecks(mails)),
		Version:     Version(),
		Log:         sys.log,
		Development: sys.Environment == config.Development,
		Count: func(event, detail string) {
			sys.Metrics.Event(event, detail)
			if event == "webhook" {
				webhooks.Record(detail)
			}
		},
	}
}

// newQuotes returns the resolver of visitors' quotes.
func (sys *systems) newQuotes(
	site *content.Service, limits *httpserver.RateLimits, mails *leadmail.Service,
) *quotes.Resolver {
	d := quotes.Deps{
		Content:         site,
		Store:           sys.Data.Store,
		Log:             sys.log,
		Now:             time.Now,
		NewID:           func() string { return strings.ToLower(rand.Text()) },
		Network:         mails.NetworkHash,
		MinTime:         sys.SpamMinTime,
		TrackContact:    sys.TrackContact,
		Challenge:       sys.openChallenge(),
		Count:           sys.Metrics.Event,
		ObserveDatabase: sys.Metrics.Database,
	}

	if limits != nil {
		d.Limiter = limits.Shared
	}
	return quotes.New(d)
}

// newChecks returns the health checks, which use the open systems of the service.
func (sys *systems) newChecks(mails *leadmail.Service) []health.Check {
	d := health.Dependencies{
		Database: func(context.Context) (*store.Store, *queue.Queue, error) {
			return sys.Data.Store, sys.Data.Queue, nil
		},
		Cache:        func(context.Context) (cache.Cache, error) { return sys.cache, nil },
		CMS:          func() (cms.Content, cms.Eraser, error) { return sys.cms, sys.cms, nil },
		CRM:          func() (crm.Lookup, error) { return sys.crm, nil },
		ContentTypes: sys.ContentTypes,
		Preview:      len(sys.PreviewTokens) > 0,
	}
	if sys.SMTPURL != nil { // otherwise mails are files or off
		d.Mail = mails.Sender
	}
	return d.Checks()
}
