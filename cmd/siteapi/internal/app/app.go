package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/turnstile"
	"siteapi/integrations/valkeyconn"
	"siteapi/resolvers/content"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/quotepdf"
	"siteapi/resolvers/retention"
	"siteapi/schema"
)

// App is the service with everything that starts, runs and stops with it.
type App struct {
	Metrics *telemetry.Metrics
	Data    *systems.Database
	Server  *httpserver.Server
	Pull    *leads.Pull // nil if the CRM reports no outcomes of leads

	settings *config.Settings
	log      zerolog.Logger
	traces   *telemetry.Traces // nil if tracing is off

	// Systems beside the database.
	cms       systems.CMS
	crm       systems.CRM
	cache     cache.Cache
	valkey    *valkeyconn.Conn    // nil with CACHE_URL=memory://
	challenge *turnstile.Verifier // nil without TURNSTILE_SECRET

	// Services on the systems.
	content   *content.Service
	pdfs      *quotepdf.Resolver
	mails     *leadmail.Service
	leads     *leads.Resolver
	handlers  queue.Handlers
	retention *retention.Job

	limits   *httpserver.RateLimits // nil with RATE_LIMITS=off
	inFlight *httpserver.InFlight

	stop       context.CancelFunc // stops the background work
	background sync.WaitGroup
}

// New builds the service. Its background work starts with Start.
func New(
	ctx context.Context, s *config.Settings, log zerolog.Logger, metrics *telemetry.Metrics,
) (_ *App, err error) {
	a := &App{
		Metrics:  metrics,
		settings: s,
		log:      log.Hook(telemetry.RequestFields{}),
	}
	if a.traces, err = telemetry.OpenTraces(ctx, s, Version(), a.log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()

	open := systems.Opener{Settings: s, Log: a.log, Metrics: a.Metrics}
	if err := a.openSystems(ctx, open); err != nil {
		return nil, err
	}
	open.LogCopy()
	a.limits = open.RateLimits(a.valkey)
	a.inFlight = httpserver.NewInFlight(s, a.Metrics.Registry)

	// Services for content, PDFs, mails and leads.
	a.content = a.newContent(open)
	if a.pdfs, err = open.PDFs(a.content, a.cache, a.Data.Store); err != nil {
		return nil, err
	}
	a.mails = open.Mails(leadmail.Service{
		Store:   a.Data.Store,
		Content: a.content,
		PDFs:    a.pdfs,
	})
	a.leads = a.newLeads(open)

	// Background work.
	if a.handlers, err = a.newHandlers(open); err != nil {
		return nil, err
	}
	a.Pull = open.Pull(a.Data, a.crm)
	a.retention = a.newRetention()
	a.Metrics.Registry.MustRegister(a.newGauges())

	// The schema and its endpoints.
	a.Server, err = a.newServer(a.newResolver(open))
	return a, err
}

// openSystems opens the systems that the settings name.
func (a *App) openSystems(ctx context.Context, open systems.Opener) (err error) {
	if err := os.MkdirAll(a.settings.DataDir, 0o750); err != nil {
		return fmt.Errorf("DATA_DIR: creating the folder: %w", err)
	}
	if a.cms, err = open.CMS(); err != nil {
		return err
	}
	if a.crm, err = open.CRM(); err != nil {
		return fmt.Errorf("opening the CRM: %w", err)
	}

	entries, conn, err := open.Cache(ctx)
	if err != nil {
		return err
	}
	a.cache, a.valkey = a.Metrics.Cache(entries), conn
	a.challenge = open.Challenge()

	if a.Data, err = open.NewDatabase(ctx); err != nil {
		return err
	}

	// A database that is away is connected later. What only a person can mend ends the start.
	if err := a.Data.Connect(ctx); err != nil && !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return nil
}

// close closes the systems.
func (a *App) close() (err error) {
	if a.Data != nil {
		err = a.Data.Close()
	}
	if a.cache != nil {
		err = errors.Join(err, a.cache.Close())
	}
	return err
}

// Start begins the background work.
func (a *App) Start(ctx context.Context) {
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))

	if a.settings.CMSWatch {
		a.background.Go(func() { a.content.Watch(ctx) })
	}
	a.background.Go(func() {
		if !a.Data.Start(ctx, a.handlers) {
			return
		}
		if a.Pull != nil {
			a.background.Go(func() { a.Pull.Run(ctx) })
		}
		a.upkeep(ctx)
	})

	a.content.FetchSoon(schema.Locales())
}

// shutdown stops the background work and closes all systems. Unfinished deliveries
// continue after the next start.
func (a *App) shutdown(ctx context.Context) error {
	var err error
	if a.stop != nil {
		a.stop()
		a.background.Wait()
		err = a.Data.Queue.Stop(ctx)
	}

	// Deliveries that did not end may have used up the time. Content that is being
	// prepared cannot be interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, a.content.Close(ctx), a.close(), a.traces.Close(ctx))
}
