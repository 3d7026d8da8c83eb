package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/retention"
	"siteapi/schema"
)

// App is the service with everything that starts, runs and stops with it.
type App struct {
	*systems
	Server *httpserver.Server
	Pull   *leads.Pull // nil if the CRM reports no outcomes of leads

	traces    *telemetry.Traces // nil if tracing is off
	content   *content.Service
	handlers  queue.Handlers
	retention *retention.Job

	stop       context.CancelFunc // stops the background work
	background sync.WaitGroup
}

// New builds the service without starting any work.
func New(ctx context.Context, s *config.Settings, log zerolog.Logger) (_ *App, err error) {
	log = log.Hook(telemetry.RequestFields{})
	traces, err := telemetry.OpenTraces(ctx, s, Version(), log)
	if err != nil {
		return nil, err
	}

	sys := &systems{Settings: s, drivers: drivers{log, telemetry.NewMetrics(Version())}}
	defer func() {
		if err != nil {
			err = errors.Join(err, sys.close())
		}
	}()
	if err := sys.open(ctx); err != nil {
		return nil, err
	}

	// Rate limits and concurrency limits.
	limits := sys.newRateLimits()
	inFlight := httpserver.NewInFlight(s, sys.Metrics.Registry)

	// Services for content, PDFs, mails and leads.
	site := sys.newContent()
	pdfs, err := sys.newPDFs(s, site, sys.cache, sys.Data.Store)
	if err != nil {
		return nil, err
	}
	mails := sys.newMails(site, pdfs)
	handlers, err := sys.newHandlers(traces, mails)
	if err != nil {
		return nil, err
	}
	pull := sys.newPull()
	sys.Metrics.Registry.MustRegister(sys.newGauges(site, pull))

	// The schema and its endpoints.
	resolver := sys.newResolver(limits, site, pdfs, mails)
	server, err := sys.newServer(traces, limits, inFlight, site, resolver)
	if err != nil {
		return nil, err
	}

	return &App{
		systems:   sys,
		Server:    server,
		Pull:      pull,
		traces:    traces,
		content:   site,
		handlers:  handlers,
		retention: sys.newRetention(pdfs),
	}, nil
}

// Start begins the background work.
func (a *App) Start(ctx context.Context) error {
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))

	if err := a.Data.Queue.Start(ctx, a.handlers); err != nil {
		return fmt.Errorf("starting the delivery queue: %w", err)
	}

	if a.CMSWatch {
		a.background.Go(func() { a.content.Watch(ctx) })
	}

	if a.Pull != nil {
		a.background.Go(func() { a.Pull.Run(ctx) })
	}

	a.background.Go(func() { a.upkeep(ctx) })
	a.background.Go(func() {
		if err := a.retryAfterChange(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).
				Msg("cannot retry deliveries with the new settings: they wait for their next attempt")
		}
	})
	a.content.Renew(schema.Locales())
	if err := command.NoteSystems(ctx, a.Data.Store, a.Settings); err != nil {
		a.log.Warn().Err(err).Msg("cannot record the settings: mismatched commands will not be rejected")
	}
	return nil
}

// targetSettings returns the settings of the connection to each target.
func targetSettings(s *config.Settings) map[lead.Target]string {
	return map[lead.Target]string{
		lead.CMS:         fmt.Sprintln(contentSource(s), s.SanityToken),
		lead.CRM:         fmt.Sprintln(s.CRMDriver, s.HubSpotAPIURL, s.HubSpotVersion, s.HubSpotToken),
		lead.Webhook:     fmt.Sprintln(s.LeadWebhookURL, s.LeadWebhookFormat, s.LeadWebhookSecrets),
		lead.VisitorMail: fmt.Sprintln(s.SMTPURL, s.MailFrom),
		lead.SalesMail:   fmt.Sprintln(s.SMTPURL, s.MailFrom, s.SalesMailTo),
	}
}

// retryAfterChange retries deliveries at once if the settings of their target have
// changed since the last start.
func (a *App) retryAfterChange(ctx context.Context) error {
	key, err := a.Data.Store.HashKey(ctx)
	if err != nil {
		return err
	}

	for target, settings := range targetSettings(a.Settings) {
		mac := hmac.New(sha256.New, key) // the settings contain secrets
		mac.Write([]byte(settings))
		if err := a.retryIfChanged(ctx, target, hex.EncodeToString(mac.Sum(nil))); err != nil {
			return err
		}
	}
	return nil
}

// retryIfChanged retries the waiting deliveries of a target unless the hash of its
// settings is the same as at the last start.
func (a *App) retryIfChanged(ctx context.Context, target lead.Target, hash string) error {
	note := "settings of " + string(target)
	former, err := a.Data.Store.Note(ctx, note)
	if former == hash || err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}

	waiting, err := a.Data.Store.ListDeliveries(ctx, store.DeliveryFilter{
		Target: target,
		States: []lead.DeliveryState{lead.Pending, lead.Retrying},
	})
	if err != nil {
		return err
	}
	for _, d := range waiting {
		if err := a.Data.Store.RetryDelivery(ctx, d.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return a.Data.Store.SetNote(ctx, note, hash)
}

// shutdown stops the background work and closes all systems. Unfinished deliveries
// continue after the next start.
func (a *App) shutdown(ctx context.Context) error {
	var err error
	if a.stop != nil {
		err = a.Data.Queue.Stop(ctx)
		a.stop()
		a.background.Wait()
	}

	return errors.Join(err, a.content.Close(ctx), a.close(), a.traces.Close(ctx))
}
