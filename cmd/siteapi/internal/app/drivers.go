package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/cache/valkey"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/crm"
	crmfile "siteapi/integrations/crm/file"
	"siteapi/integrations/crm/hubspot"
	"siteapi/integrations/lead"
	"siteapi/integrations/leadwebhook"
	"siteapi/integrations/queue"
	limitmemory "siteapi/integrations/ratelimit/memory"
	limitvalkey "siteapi/integrations/ratelimit/valkey"
	"siteapi/integrations/turnstile"
	"siteapi/integrations/upstream"
	"siteapi/integrations/valkeyconn"
	"siteapi/resolvers/leadmail"
)

// drivers opens systems with the drivers that the settings select.
type drivers struct {
	log     zerolog.Logger
	Metrics *telemetry.Metrics
}

// systems are the opened systems that the service uses.
type systems struct {
	drivers
	*config.Settings
	Data *command.Database

	cms    command.CMS
	crm    command.CRM
	cache  cache.Cache
	valkey *valkeyconn.Conn // nil with CACHE_URL=memory://
	closers
}

// open opens all systems. The caller must close them, even after an error.
func (sys *systems) open(ctx context.Context) (err error) {
	if err := os.MkdirAll(sys.DataDir, 0o750); err != nil {
		return fmt.Errorf("DATA_DIR: creating the folder: %w", err)
	}
	if sys.cms, err = sys.openCMS(sys.Settings); err != nil {
		return err
	}
	if sys.crm, err = sys.openCRM(sys.Settings); err != nil {
		return fmt.Errorf("opening the CRM: %w", err)
	}

	entries, conn, err := sys.openCache(ctx, sys.Settings)
	if err != nil {
		return err
	}
	sys.cache, sys.valkey = sys.Metrics.Cache(entries), conn
	sys.add(entries.Close)

	if sys.Data, err = sys.openDatabase(ctx, sys.Settings); err != nil {
		return err
	}
	sys.add(sys.Data.Close)
	return nil
}

// openCMS opens the driver of CMS_DRIVER.
func (d drivers) openCMS(s *config.Settings) (command.CMS, error) {
	if s.CMSDriver == "sanity" {
		return sanity.New(sanity.Options{
			ProjectID:  s.SanityProjectID,
			Dataset:    s.SanityDataset,
			APIVersion: s.SanityAPIVersion,
			Token:      s.SanityToken,
			APIURL:     s.SanityAPIURL,
			Timeout:    5 * time.Second,
			Log:        d.log,
			Observe:    d.Metrics.Call,
		}), nil
	}

	return cmsfile.Open(cmsfile.Options{
		Path:   s.ContentPath(),
		Sample: s.CMSFile == "",
		Dir:    s.DataDir,
		Log:    d.log,
	})
}

// contentSource identifies the source of content. Cache entries of another source are not
// served.
func contentSource(s *config.Settings) string {
	if s.CMSDriver == "sanity" {
		return strings.Join([]string{
			"sanity", s.SanityAPIURL, s.SanityProjectID, s.SanityDataset, s.SanityAPIVersion,
		}, " ")
	}

	path, err := filepath.Abs(s.ContentPath())
	if err != nil {
		path = s.ContentPath()
	}
	return "file " + path
}

// openCRM opens the driver of CRM_DRIVER.
func (d drivers) openCRM(s *config.Settings) (command.CRM, error) {
	if s.CRMDriver == "hubspot" {
		return hubspot.New(hubspot.Options{
			Token:     s.HubSpotToken,
			BaseURL:   s.HubSpotAPIURL,
			Version:   s.HubSpotVersion,
			DealStage: s.HubSpotStage,
			Observe:   d.Metrics.Call,
			OnOmitted: func(text string) {
				d.Metrics.Gaps.Inc()
				d.log.Warn().Str("reason", text).Msg("a contact or deal was stored without a property")
			},
		}), nil
	}

	return crmfile.Open(filepath.Join(s.DataDir, "crm"))
}

// openChallenge returns the client of the bot check, or nil without TURNSTILE_SECRET.
func (sys *systems) openChallenge() *turnstile.Verifier {
	if sys.TurnstileKey == "" {
		return nil
	}
	return turnstile.New(turnstile.Options{
		Secret:  sys.TurnstileKey,
		URL:     sys.TurnstileURL,
		Observe: sys.Metrics.Call,
	})
}

// openCache opens the cache of CACHE_URL. The connection is nil with memory://; otherwise
// it is shared with the rate limits and is closed with the cache.
func (d drivers) openCache(ctx context.Context, s *config.Settings) (cache.Cache, *valkeyconn.Conn, error) {
	if s.CacheURL.Scheme == "memory" {
		return memory.New(), nil, nil
	}

	conn, err := valkeyconn.Open(ctx, s.CacheURL.String(), func(up bool, err error) {
		if up {
			d.log.Info().Msg("connected to the cache server")
			return
		}

		d.log.Error().Err(err).Msg("cannot reach the cache server: " +
			"content comes from the CMS, and requests are counted per instance")
	})
	if err != nil {
		return nil, nil, fmt.Errorf("CACHE_URL: %w", err)
	}
	return valkey.New(conn, s.CachePrefix), conn, nil
}

// newRateLimits returns the rate limits, or nil with RATE_LIMITS=off. Instances that
// share a cache server also share their counts.
func (sys *systems) newRateLimits() *httpserver.RateLimits {
	if !sys.RateLimits {
		return nil
	}

	local := limitmemory.New()
	limits := &httpserver.RateLimits{Shared: local, Local: local}
	if sys.valkey != nil {
		limits.Shared = limitvalkey.New(sys.valkey, sys.CachePrefix)
	}
	return limits
}

// openLeadWebhook returns the function that announces new leads. Without LEAD_WEBHOOK_URL
// the function fails, and so do the deliveries that were queued while the URL was set.
func (sys *systems) openLeadWebhook() (queue.Send, error) {
	if sys.LeadWebhookURL == "" {
		return func(context.Context, *queue.Try) error {
			return &upstream.Error{
				System: "webhook",
				Op:     "announcing the lead",
				Kind:   upstream.Rejected,
				Detail: "LEAD_WEBHOOK_URL is not set",
			}
		}, nil
	}

	webhook, err := leadwebhook.New(leadwebhook.Options{
		URL:     sys.LeadWebhookURL,
		Secrets: sys.LeadWebhookSecrets,
		Slack:   sys.LeadWebhookFormat == "slack",
		Observe: sys.Metrics.Call,
	})
	if err != nil {
		return nil, fmt.Errorf("LEAD_WEBHOOK_URL: %w", err)
	}

	return func(ctx context.Context, t *queue.Try) error {
		return webhook.Announce(ctx, leadwebhook.Announcement{
			Lead:      *t.Lead,
			Reference: lead.Reference(t.ID),
			PDFURL:    sys.SiteURL + t.PDFPath(),
		})
	}, nil
}

// newHandlers returns the functions that deliver leads to each target and mails to
// owners.
func (sys *systems) newHandlers(
	traces *telemetry.Traces, mails *leadmail.Service,
) (h queue.Handlers, err error) {
	h.Send = map[lead.Target]queue.Send{
		lead.CMS: func(ctx context.Context, t *queue.Try) error {
			return sys.cms.Put(ctx, t.Lead)
		},
		lead.CRM: func(ctx context.Context, t *queue.Try) error {
			c := crm.Contact{Lead: t.Lead, PDFURL: sys.SiteURL + t.PDFPath()}
			if snap, err := mails.Content.ReadSoon(ctx, mails.SalesLocale); err == nil {
				c.ProjectType = snap.Labels[t.Selections.ProjectType]
			}
			return sys.crm.Upsert(ctx, c)
		},
		lead.VisitorMail: mails.SendVisitorMail,
		lead.SalesMail:   mails.SendSalesMail,
	}
	if h.Send[lead.Webhook], err = sys.openLeadWebhook(); err != nil {
		return h, err
	}
	for target, send := range h.Send {
		h.Send[target] = traces.Send(target, send)
	}

	h.OwnerMail = mails.SendOwnerMail
	return h, nil
}

// targets returns the rate and concurrency of each target, and which targets are off.
func targets(s *config.Settings) []queue.TargetConfig {
	return []queue.TargetConfig{
		{Name: lead.CMS, MaxWorkers: 8, PerSecond: s.CMSRate},
		{Name: lead.CRM, MaxWorkers: 4, PerSecond: s.CRMRate},

		// Receivers of webhooks usually accept five requests a second.
		{
			Name:       lead.Webhook,
			MaxWorkers: 4,
			PerSecond:  5,
			Off:        unless(s.LeadWebhookURL != "", "LEAD_WEBHOOK_URL was not set"),
		},
		{
			Name:       lead.VisitorMail,
			MaxWorkers: 4,
			Off: cmp.Or(unless(s.Mails(), leadmail.NoMailServer),
				unless(s.VisitorMail, leadmail.VisitorsOff)),
		},
		{Name: lead.SalesMail, MaxWorkers: 4, Off: unless(s.Mails(), leadmail.NoMailServer)},
	}
}

// unless returns the reason if ok is false.
func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}
