package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/queue"
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
	a.content.Renew(schema.Locales())
	if err := command.NoteSystems(ctx, a.Data.Store, a.Settings); err != nil {
		a.log.Warn().Err(err).Msg("cannot record the settings: mismatched commands will not be rejected")
	}
	return nil
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
