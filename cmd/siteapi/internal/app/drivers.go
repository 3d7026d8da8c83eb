package app

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	"siteapi/integrations/store"
	"siteapi/integrations/turnstile"
	"siteapi/integrations/upstream"
	"siteapi/integrations/valkeyconn"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
)

// cmsDriver is what every CMS driver offers.
type cmsDriver interface {
	cms.Content
	cms.Leads
	cms.Watcher
	leads.CMS
}

// crmDriver is what every CRM driver offers.
type crmDriver interface {
	crm.Contacts
	leads.CRM
}

// systems are what the service works with, as its settings name them.
type systems struct {
	cms    cmsDriver
	crm    crmDriver
	cache  cache.Cache
	valkey *valkeyconn.Conn // nil: this process caches and counts alone
	data   *command.Database
	closers
}

// openSystems opens all of them.
func openSystems(
	ctx context.Context, s *config.Settings, log zerolog.Logger, m *telemetry.Metrics,
) (_ *systems, err error) {
	sys := &systems{}
	defer func() {
		if err != nil {
			err = errors.Join(err, sys.close())
		}
	}()

	if err := os.MkdirAll(s.DataDir, 0o750); err != nil {
		return nil, fmt.Errorf("DATA_DIR: making the folder: %w", err)
	}
	if sys.cms, err = openCMS(s, log, m); err != nil {
		return nil, err
	}
	if sys.crm, err = openCRM(s, log, m); err != nil {
		return nil, fmt.Errorf("opening the CRM: %w", err)
	}

	entries, conn, err := openCache(ctx, s, log)
	if err != nil {
		return nil, err
	}
	sys.cache, sys.valkey = m.Cache(entries), conn
	sys.add(entries.Close)

	if sys.data, err = OpenDatabase(ctx, s, log, m); err != nil {
		return nil, err
	}
	sys.add(sys.data.Close)
	return sys, nil
}

// openCMS opens the driver that CMS_DRIVER names.
func openCMS(s *config.Settings, log zerolog.Logger, m *telemetry.Metrics) (cmsDriver, error) {
	if s.CMSDriver == "sanity" {
		return sanity.New(sanity.Options{
			ProjectID:  s.SanityProjectID,
			Dataset:    s.SanityDataset,
			APIVersion: s.SanityAPIVersion,
			Token:      s.SanityToken,
			APIURL:     s.SanityAPIURL,
			Timeout:    5 * time.Second,
			Log:        log,
			Observe:    m.Call,
		}), nil
	}

	return cmsfile.Open(cmsfile.Options{
		Path:   s.ContentPath(),
		Sample: s.CMSFile == "",
		Dir:    s.DataDir,
		Log:    log,
	})
}

// contentSource identifies what content is read from. Entries of the cache that were made
// from something else are not served.
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

// contentDir is the folder of the content's fallback copies.
func contentDir(s *config.Settings) string { return filepath.Join(s.DataDir, "content") }

// openCRM opens the driver that CRM_DRIVER names.
func openCRM(s *config.Settings, log zerolog.Logger, m *telemetry.Metrics) (crmDriver, error) {
	if s.CRMDriver == "hubspot" {
		return hubspot.New(hubspot.Options{
			Token:   s.HubSpotToken,
			BaseURL: s.HubSpotAPIURL,
			Version: s.HubSpotVersion,
			Observe: m.Call,
			OnOmitted: func(text string) {
				m.Gaps.Inc()
				log.Warn().Str("reason", text).Msg("a contact was stored without a property")
			},
		}), nil
	}

	return crmfile.Open(filepath.Join(s.DataDir, "crm"))
}

// openChallenge returns the client of the bot check, or nil if the site has none.
func openChallenge(s *config.Settings, m *telemetry.Metrics) *turnstile.Verifier {
	if s.TurnstileKey == "" {
		return nil
	}
	return turnstile.New(turnstile.Options{Secret: s.TurnstileKey, URL: s.TurnstileURL, Observe: m.Call})
}

// openCache opens the backend that CACHE_URL names. The connection is shared with the
// rate limits and is closed with the cache; with memory:// it is nil.
func openCache(
	ctx context.Context, s *config.Settings, log zerolog.Logger,
) (cache.Cache, *valkeyconn.Conn, error) {
	if s.CacheURL.Scheme == "memory" {
		return memory.New(), nil, nil
	}

	conn, err := valkeyconn.Open(ctx, s.CacheURL.String(), func(up bool, err error) {
		if up {
			log.Info().Msg("connected to the cache server")
			return
		}

		log.Error().Err(err).Msg("cannot reach the cache server: " +
			"content comes from the CMS, and requests are counted per instance")
	})
	if err != nil {
		return nil, nil, fmt.Errorf("CACHE_URL: %w", err)
	}
	return valkey.New(conn, s.CachePrefix), conn, nil
}

// newRateLimits returns the rate limits, or nil if clients are not limited. Requests are
// counted on the connection of the cache if there is one, so that several instances count
// together.
func newRateLimits(s *config.Settings, conn *valkeyconn.Conn) *httpserver.RateLimits {
	if !s.RateLimits {
		return nil
	}

	local := limitmemory.New()
	limits := &httpserver.RateLimits{Shared: local, Local: local}
	if conn != nil {
		limits.Shared = limitvalkey.New(conn, s.CachePrefix)
	}
	return limits
}

// openLeadWebhook returns the function that announces new leads. Without LEAD_WEBHOOK_URL
// the function returns an error, so deliveries that were queued while the URL was set
// fail.
func openLeadWebhook(s *config.Settings, m *telemetry.Metrics) (queue.Send, error) {
	if s.LeadWebhookURL == "" {
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
		URL:     s.LeadWebhookURL,
		Secrets: s.LeadWebhookSecrets,
		Slack:   s.LeadWebhookFormat == "slack",
		Observe: m.Call,
	})
	if err != nil {
		return nil, fmt.Errorf("LEAD_WEBHOOK_URL: %w", err)
	}

	return func(ctx context.Context, t *queue.Try) error {
		return webhook.Announce(ctx, leadwebhook.Announcement{
			Lead:      *t.Lead,
			Reference: lead.Reference(t.ID),
			PDFURL:    s.SiteURL + t.PDFPath(),
		})
	}, nil
}

// newHandlers returns how leads get to each target, and operators to their mails.
func newHandlers(
	s *config.Settings, m *telemetry.Metrics, traces *telemetry.Traces, sys *systems, mails *leadmail.Service,
) (h queue.Handlers, err error) {
	h.Send = map[lead.Target]queue.Send{
		lead.CMS: func(ctx context.Context, t *queue.Try) error {
			return sys.cms.Put(ctx, t.Lead)
		},
		lead.CRM: func(ctx context.Context, t *queue.Try) error {
			return sys.crm.Upsert(ctx, crm.Contact{Lead: t.Lead, PDFURL: s.SiteURL + t.PDFPath()})
		},
		lead.VisitorMail: mails.SendVisitorMail,
		lead.SalesMail:   mails.SendSalesMail,
	}
	if h.Send[lead.Webhook], err = openLeadWebhook(s, m); err != nil {
		return h, err
	}
	for target, send := range h.Send {
		h.Send[target] = traces.Send(target, send)
	}

	h.OwnerMail = mails.SendOwnerMail
	return h, nil
}

// targets returns how fast leads are delivered to each target, and which get none.
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

// unless returns a reason, or nothing if there is none.
func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

// targetSettings returns the settings by which each target is reached.
func targetSettings(s *config.Settings) map[lead.Target]string {
	mails := fmt.Sprint(s.SMTPURL, s.MailFrom)
	return map[lead.Target]string{
		lead.CMS:         contentSource(s) + " " + s.SanityToken,
		lead.CRM:         fmt.Sprint(s.CRMDriver, s.HubSpotAPIURL, s.HubSpotVersion, s.HubSpotToken),
		lead.Webhook:     fmt.Sprint(s.LeadWebhookURL, s.LeadWebhookFormat, s.LeadWebhookSecrets),
		lead.VisitorMail: mails,
		lead.SalesMail:   fmt.Sprint(mails, s.SalesMailTo),
	}
}

// retryChanged makes the deliveries due that wait for a target whose settings are not those of
// the last start.
func (a *App) retryChanged(ctx context.Context) error {
	key, err := a.Data.Tables.HashKey(ctx)
	if err != nil {
		return err
	}

	for target, settings := range targetSettings(a.settings) {
		mac := hmac.New(sha256.New, key) // since the settings have secrets
		mac.Write([]byte(settings))
		name, hash := "settings of "+string(target), hex.EncodeToString(mac.Sum(nil))

		former, err := a.Data.Tables.Note(ctx, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if former == hash {
			continue
		}

		waiting, err := a.Data.Tables.ListDeliveries(ctx, store.DeliveryFilter{
			Target: target,
			States: []lead.DeliveryState{lead.Pending, lead.Retrying},
		})
		if err != nil {
			return err
		}
		for _, d := range waiting {
			if err := a.Data.Tables.RetryDelivery(ctx, d.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		if err := a.Data.Tables.SetNote(ctx, name, hash); err != nil {
			return err
		}
	}
	return nil
}
