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

// App is the service: what its start and its end need of it.
type App struct {
	Server  *httpserver.Server
	Metrics *telemetry.Metrics
	Data    *command.Database
	Pull    *leads.Pull // nil: the CRM does not know what became of leads

	settings  *config.Settings
	log       zerolog.Logger
	traces    *telemetry.Traces // nil if nothing is traced
	systems   *systems
	content   *content.Service
	handlers  queue.Handlers
	retention *retention.Job

	stop       context.CancelFunc // ends the background work that Start began
	background sync.WaitGroup
}

// New builds the service without starting any work.
func New(ctx context.Context, s *config.Settings, log zerolog.Logger) (_ *App, err error) {
	log = log.Hook(telemetry.RequestFields{})
	metrics := telemetry.NewMetrics(Version())
	traces, err := telemetry.OpenTraces(ctx, s, Version(), log)
	if err != nil {
		return nil, err
	}

	sys, err := openSystems(ctx, s, log, metrics)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, sys.close())
		}
	}()

	// What clients may ask for, in a time and at a time.
	limits := newRateLimits(s, sys.valkey)
	inFlight := httpserver.NewInFlight(s, metrics.Registry)

	// What becomes of content and leads.
	site := newContent(s, log, metrics, sys)
	pdfs, err := newPDFs(s, log, metrics, site, sys.cache, sys.data.Quotes)
	if err != nil {
		return nil, err
	}
	mails := newMails(s, log, metrics, sys.data, site, pdfs)
	handlers, err := newHandlers(s, metrics, traces, sys, mails)
	if err != nil {
		return nil, err
	}
	pull := newPull(log, metrics, sys)
	metrics.Registry.MustRegister(newGauges(s, sys, site, pull))

	// How clients reach it.
	resolver := newResolver(s, log, metrics, sys, limits, site, pdfs, mails)
	server, err := newServer(s, log, metrics, traces, sys, limits, inFlight, site, resolver)
	if err != nil {
		return nil, err
	}

	return &App{
		Server:    server,
		Metrics:   metrics,
		Data:      sys.data,
		Pull:      pull,
		settings:  s,
		log:       log,
		traces:    traces,
		systems:   sys,
		content:   site,
		handlers:  handlers,
		retention: newRetention(s, log, sys.data, pdfs),
	}, nil
}

// Start begins the background work.
func (a *App) Start(ctx context.Context) error {
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))

	if err := a.Data.Queue.Start(ctx, a.handlers); err != nil {
		return fmt.Errorf("starting the deliveries: %w", err)
	}

	if a.settings.CMSWatch {
		a.background.Go(func() { a.content.Watch(ctx) })
	}

	if a.Pull != nil {
		a.background.Go(func() { a.Pull.Run(ctx) })
	}

	a.background.Go(func() {
		if err := a.retryChanged(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("cannot make deliveries due whose target has other settings: they wait for their next try")
		}
	})
	a.background.Go(func() { a.upkeep(ctx) })
	a.content.Renew(schema.Locales())
	if err := command.NoteSystems(ctx, a.Data.Tables, a.settings); err != nil {
		a.log.Warn().Err(err).Msg("noting the settings: commands with others are not refused")
	}
	return nil
}

// shutdown ends the background work and closes everything. Unfinished deliveries
// continue after the next start.
func (a *App) shutdown(ctx context.Context) error {
	var err error
	if a.stop != nil {
		err = a.Data.Queue.Stop(ctx)
		a.stop()
		a.background.Wait()
	}

	return errors.Join(err, a.content.Close(ctx), a.systems.close(), a.traces.Close(ctx))
}
