// Package systems opens and closes the systems that the settings name. It is the only
// package that imports drivers.
package systems

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/cache/valkey"
	"siteapi/integrations/cms"
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
	"siteapi/resolvers/leads"
)

// Opener opens the systems that the settings name. The caller must close what has a Close
// method.
type Opener struct {
	Settings *config.Settings
	Log      zerolog.Logger
	Metrics  *telemetry.Metrics
}

// CMS is implemented by every CMS driver.
type CMS interface {
	cms.Content
	cms.Leads
	cms.Watcher
	leads.CMS
}

// CRM is implemented by every CRM driver.
type CRM interface {
	crm.Contacts
	leads.CRM
}

// CMS opens the driver of CMS_DRIVER.
func (o Opener) CMS() (CMS, error) {
	s := o.Settings
	if s.CMSDriver == "sanity" {
		return sanity.New(sanity.Options{
			ProjectID:  s.SanityProjectID,
			Dataset:    s.SanityDataset,
			APIVersion: s.SanityAPIVersion,
			Token:      s.SanityToken,
			APIURL:     s.SanityAPIURL,
			Timeout:    5 * time.Second,
			Log:        o.Log,
			Observe:    o.Metrics.Call,
		}), nil
	}

	return cmsfile.Open(cmsfile.Options{
		Path:   s.ContentPath(),
		Sample: s.CMSFile == "",
		Dir:    s.DataDir,
		Log:    o.Log,
	})
}

// SampleContent returns the sample documents as a JSON array.
func SampleContent() []byte { return cmsfile.Sample() }

// ContentSource identifies the source of content. Cache entries of another source are not
// served.
func ContentSource(s *config.Settings) string {
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

// CRM opens the driver of CRM_DRIVER.
func (o Opener) CRM() (CRM, error) {
	s := o.Settings
	if s.CRMDriver == "hubspot" {
		return hubspot.New(hubspot.Options{
			Token:     s.HubSpotToken,
			BaseURL:   s.HubSpotAPIURL,
			Version:   s.HubSpotVersion,
			DealStage: s.HubSpotStage,
			Observe:   o.Metrics.Call,
			OnOmitted: func(text string) {
				o.Metrics.Gaps.Inc()
				o.Log.Warn().Str("reason", text).Msg("a contact or deal was stored without a property")
			},
		}), nil
	}

	return crmfile.Open(filepath.Join(s.DataDir, "crm"))
}

// Challenge returns the client of the bot check, or nil without TURNSTILE_SECRET.
func (o Opener) Challenge() *turnstile.Verifier {
	if o.Settings.TurnstileKey == "" {
		return nil
	}
	return turnstile.New(turnstile.Options{
		Secret:  o.Settings.TurnstileKey,
		URL:     o.Settings.TurnstileURL,
		Observe: o.Metrics.Call,
	})
}

// Cache opens the cache of CACHE_URL. The connection is nil with memory://; otherwise
// it is shared with the rate limits and is closed with the cache.
func (o Opener) Cache(ctx context.Context) (cache.Cache, *valkeyconn.Conn, error) {
	s := o.Settings
	if s.CacheURL.Scheme == "memory" {
		return memory.New(), nil, nil
	}

	conn, err := valkeyconn.Open(ctx, s.CacheURL.String(), func(up bool, err error) {
		if up {
			o.Log.Info().Msg("connected to the cache server")
			return
		}

		o.Log.Error().Err(err).Msg("cannot reach the cache server: " +
			"content comes from the CMS, and requests are counted per instance")
	})
	if err != nil {
		return nil, nil, fmt.Errorf("CACHE_URL: %w", err)
	}
	return valkey.New(conn, s.CachePrefix), conn, nil
}

// RateLimits returns the rate limits, or nil with RATE_LIMITS=off. Instances that share a
// cache server also share their counts.
func (o Opener) RateLimits(conn *valkeyconn.Conn) *httpserver.RateLimits {
	if !o.Settings.RateLimits {
		return nil
	}

	local := limitmemory.New()
	limits := &httpserver.RateLimits{Shared: local, Local: local}
	if conn != nil {
		limits.Shared = limitvalkey.New(conn, o.Settings.CachePrefix)
	}
	return limits
}

// LeadWebhook returns the function that announces new leads. Without LEAD_WEBHOOK_URL
// the function fails, and so do the deliveries that were queued while the URL was set.
func (o Opener) LeadWebhook() (queue.Send, error) {
	if o.Settings.LeadWebhookURL == "" {
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
		URL:     o.Settings.LeadWebhookURL,
		Secrets: o.Settings.LeadWebhookSecrets,
		Slack:   o.Settings.LeadWebhookFormat == "slack",
		Observe: o.Metrics.Call,
	})
	if err != nil {
		return nil, fmt.Errorf("LEAD_WEBHOOK_URL: %w", err)
	}

	return func(ctx context.Context, t *queue.Try) error {
		return webhook.Announce(ctx, leadwebhook.Announcement{
			Lead:      *t.Lead,
			Reference: lead.Reference(t.ID),
			PDFURL:    o.Settings.SiteURL + t.PDFPath(),
		})
	}, nil
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
