package app

import (
	"context"
	"slices"
	"time"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/funnel"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/quotepage"
	"siteapi/resolvers/quotes"
	"siteapi/resolvers/retention"
	"siteapi/schema"
)

func (a *App) newContent(open systems.Opener) *content.Service {
	return open.Content(content.Options{
		CMS:       a.cms,
		Watcher:   a.cms,
		Cache:     a.cache,
		Revisions: a.Data.Store,
		Notify:    a.Data.Queue.ContentChanged,
		Count:     a.Metrics.Event,
		Life:      cache.Lifetime{Stale: 24 * time.Hour},
	})
}

// newHandlers returns the functions that deliver leads to each target and mails to
// owners.
func (a *App) newHandlers(open systems.Opener) (h queue.Handlers, err error) {
	h.Send = map[lead.Target]queue.Send{
		lead.CMS: func(ctx context.Context, t *queue.Try) error {
			return a.cms.Put(ctx, t.Lead)
		},
		lead.CRM: func(ctx context.Context, t *queue.Try) error {
			site := a.settings.SiteURL
			c := crm.Contact{
				Lead:     t.Lead,
				PDFURL:   site + t.PDFPath(),
				PageURL:  site + t.PagePath(),
				TimeZone: a.settings.TimeZone,
			}
			if snap, err := a.content.ReadSoon(ctx, a.settings.SalesLocale); err == nil {
				c.ProjectType = snap.Labels[t.Selections.ProjectType]
			}
			records, err := a.crm.Upsert(ctx, c)
			t.Keep(records)
			return err
		},
		lead.VisitorMail: a.mails.SendVisitorMail,
		lead.SalesMail:   a.mails.SendSalesMail,
	}
	if h.Send[lead.Webhook], err = open.LeadWebhook(); err != nil {
		return h, err
	}
	for target, send := range h.Send {
		h.Send[target] = a.traces.Send(target, send)
	}

	h.OwnerMail = a.mails.SendOwnerMail
	return h, nil
}

// newGauges returns the metrics of the database, the queue and the background work.
func (a *App) newGauges() telemetry.Gauges {
	g := telemetry.Gauges{
		Queue: a.Data.Queue,
		Load:  a.Data.Load,
		Sizes: a.Data.Sizes,

		Unusable: a.content.Unusable,
	}
	if a.settings.CMSWatch {
		g.Watcher = a.cms
	}
	if a.Pull != nil {
		g.Pulled = a.Pull.LastAt
	}
	return g
}

// newRetention returns the job that deletes expired data.
func (a *App) newRetention() *retention.Job {
	return &retention.Job{
		Sessions:   a.settings.TrackRetention,
		Leads:      a.settings.LeadRetention,
		Audit:      a.settings.AuditRetention,
		Store:      a.Data.Store,
		Log:        a.log,
		ForgetPDFs: a.pdfs.Forget,
	}
}

// newLeads returns the resolver of the leads.
func (a *App) newLeads(open systems.Opener) *leads.Resolver {
	return open.Leads(a.Data, leads.Resolver{
		Mails:     a.mails,
		CMS:       a.cms,
		CRM:       a.crm,
		Options:   a.options,
		ClearPDFs: a.pdfs.Forget,
	})
}

// options returns the slugs of the CMS's options with their labels.
func (a *App) options(ctx context.Context) map[string]string {
	if snap, err := a.content.ReadSoon(ctx, schema.LocaleOrDefault("")); err == nil {
		return snap.Labels
	}
	return nil
}

// newResolver returns the resolvers of all fields.
func (a *App) newResolver(open systems.Opener) *resolvers.Resolver {
	return &resolvers.Resolver{
		QuotesResolver:   a.newQuotes(),
		QuotePDFResolver: a.pdfs,
		QuotePageResolver: &quotepage.Resolver{
			PDFs:      a.pdfs,
			Store:     a.Data.Store,
			Operators: a.leads.Operators,
		},

		LeadsResolver:     a.leads,
		OperatorsResolver: a.leads.Operators,
		FunnelResolver: &funnel.Resolver{
			Store:    a.Data.Store,
			TimeZone: a.settings.TimeZone,
			Options:  a.options,
		},

		SiteResolver: resolvers.SiteResolver{
			Site:     a.content,
			Cache:    a.cache,
			Checks:   slices.Concat(command.Checks(a.settings), a.newChecks(open)),
			Version:  Version(),
			Log:      a.log,
			Webhooks: &health.Webhooks{Notes: a.Data.Store, Log: a.log, Count: a.Metrics.Event},
		},
	}
}

// newQuotes returns the resolver of visitors' quotes.
func (a *App) newQuotes() *quotes.Resolver {
	d := quotes.Deps{
		Content:         a.content,
		Store:           a.Data.Store,
		Log:             a.log,
		Now:             time.Now,
		TimeZone:        a.settings.TimeZone,
		Network:         a.mails.NetworkHash,
		SiteURL:         a.settings.SiteURL,
		MinTime:         a.settings.SpamMinTime,
		TrackContact:    a.settings.TrackContact,
		Challenge:       a.challenge,
		Count:           a.Metrics.Event,
		ObserveDatabase: a.Metrics.Database,
	}

	if a.limits != nil {
		d.Limiter = a.limits.Shared
	}
	return quotes.New(d)
}

// newChecks returns the health checks, which use the open systems of the service.
func (a *App) newChecks(open systems.Opener) []health.Check {
	d := health.Dependencies{
		Database: func(context.Context) (*store.Store, *queue.Queue, error) {
			return a.Data.Store, a.Data.Queue, nil
		},
		Cache: func(context.Context) (cache.Cache, error) { return a.cache, nil },
		CMS:   func() (cms.Content, cms.Eraser, error) { return a.cms, a.cms, nil },
		CRM:   func() (health.CRM, error) { return a.crm, nil },
	}
	return open.Checks(d)
}
