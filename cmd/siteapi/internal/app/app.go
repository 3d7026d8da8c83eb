package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/queue"
	"siteapi/integrations/ratelimit"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/graphqlhttp"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/retention"
	"siteapi/rest"
	"siteapi/schema/exec"
	documents "siteapi/schema/operations"
)

// App is the service with all its parts.
type App struct {
	settings *config.Settings
	log      zerolog.Logger
	Server   *httpserver.Server
	Metrics  *telemetry.Metrics
	Traces   *telemetry.Traces // nil if nothing is traced
	Data     *command.Database
	content  *content.Service
	Mails    *leadmail.Service
	limiter  ratelimit.Limiter // counts clients for all instances; nil if they are not limited
	resolver *resolvers.Resolver
	watcher  cms.Watcher // nil: changes of the content are not noticed without the webhook
	Pull     *leads.Pull // nil: the CRM does not know what became of leads

	retention *retention.Job
	closers

	stop       context.CancelFunc // ends the background work that start began
	background sync.WaitGroup
}

// New builds the service without starting any work. Changes replace parts that no
// setting selects, for tests.
func New(
	ctx context.Context, s *config.Settings, log zerolog.Logger, changes ...func(*Deliveries),
) (_ *App, err error) {
	log = log.Hook(telemetry.RequestFields{})
	a := &App{settings: s, log: log, Metrics: telemetry.NewMetrics(Version())}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()

	if err := os.MkdirAll(s.DataDir, 0o750); err != nil {
		return nil, fmt.Errorf("DATA_DIR: making the folder: %w", err)
	}
	if a.Traces, err = telemetry.OpenTraces(ctx, s, Version(), log); err != nil {
		return nil, err
	}

	source, err := openCMS(s, log, a.Metrics)
	if err != nil {
		return nil, err
	}
	if s.CMSWatch {
		a.watcher = source
	}

	contacts, err := openCRM(s, log, a.Metrics)
	if err != nil {
		return nil, fmt.Errorf("opening the CRM: %w", err)
	}

	clients, operators, err := newDocuments(s)
	if err != nil {
		return nil, fmt.Errorf("GRAPHQL_DOCUMENTS: %w", err)
	}

	entries, conn, err := openCache(ctx, s, log)
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, entries.Close)
	entries = a.Metrics.Cache(entries)

	if err := a.openDatabase(ctx, source, contacts, changes); err != nil {
		return nil, err
	}
	limits := newRateLimits(s, conn)
	if limits != nil {
		a.limiter = limits.Shared
	}
	a.newPull(contacts)
	a.newContent(source, entries)
	a.registerGauges()
	if err := a.newResolver(source, contacts, entries, openChallenge(s, a.Metrics)); err != nil {
		return nil, err
	}

	inFlight := httpserver.NewInFlight(s, a.Metrics.Registry)
	return a, a.newServer(clients, operators, limits, inFlight, a.dependencies(source, contacts, entries)...)
}

// dependencies returns what the service depends on, for its readiness.
func (a *App) dependencies(
	source cmsDriver, contacts crmDriver, entries cache.Cache,
) []*httpserver.Dependency {
	return []*httpserver.Dependency{
		{
			Name:     "database",
			Required: true,
			Ping:     a.Data.Quotes.Ping,
			Interval: time.Second,
		},
		{Name: "cache", Ping: entries.Ping, Interval: time.Second},

		// The APIs of the CMS and the CRM may have quotas.
		{Name: "cms", Ping: source.Ping, Interval: time.Minute},
		{Name: "crm", Ping: contacts.Ping, Interval: time.Minute},
	}
}

// openDatabase opens the database with the queue, which delivers leads to the CMS, the CRM and
// what else the settings name.
func (a *App) openDatabase(
	ctx context.Context, source cmsDriver, contacts crmDriver, changes []func(*Deliveries),
) error {
	announce, err := openLeadWebhook(a.settings, a.Metrics)
	if err != nil {
		return err
	}

	d := Deliveries{
		Senders: a.senders(source, contacts, announce),
		observe: a.Metrics.Delivery,
		call:    a.Metrics.Call,
	}
	if a.settings.Mails() {
		d.owners = func(ctx context.Context, m queue.OwnerMail) error { return a.Mails.SendOwnerMail(ctx, m) }
	}
	for _, change := range changes {
		change(&d)
	}
	for target, send := range d.Senders {
		d.Senders[target] = a.Traces.Send(target, send)
	}

	if a.Data, err = OpenDatabase(ctx, a.settings, d, a.log); err != nil {
		return err
	}
	a.closers = append(a.closers, a.Data.Close)
	return nil
}

// newPull prepares asking the CRM what became of leads, if it knows that.
func (a *App) newPull(contacts crmDriver) {
	if source, ok := contacts.(crm.Outcomes); ok {
		a.Pull = &leads.Pull{
			CRM:      source,
			Leases:   a.Data.Tables,
			Notes:    a.Data.Tables,
			Archive:  a.Data.Archive,
			Outcomes: a.Data.Tables,
			Log:      a.log,
			Count:    a.Metrics.Event,
		}
	}
}

// registerGauges has the metrics show what is in the database and the queue.
func (a *App) registerGauges() {
	gauges := telemetry.Gauges{
		Queue:   a.Data.Queue,
		Archive: a.Data.Archive,
		Load:    a.Data.Load,
		Files:   a.Data.Files,
		Sizes:   a.Data.Sizes,
		Watcher: a.watcher,

		RulesUnusable: a.content.RulesUnusable,
	}
	if a.Pull != nil {
		gauges.Pulled = a.Pull.LastAt
	}
	a.Metrics.Registry.MustRegister(gauges)
}

// newContent makes the content service over a CMS and a cache.
func (a *App) newContent(source cmsDriver, entries cache.Cache) {
	s := a.settings

	a.content = content.New(content.Options{
		CMS:         source,
		Drafts:      source,
		Cache:       entries,
		Leases:      a.Data.Tables,
		Notes:       a.Data.Tables,
		Prices:      a.Data.Tables,
		Log:         a.log,
		Now:         time.Now,
		Count:       a.Metrics.Event,
		Source:      contentSource(s),
		Types:       s.ContentTypes,
		Life:        cache.Lifetime{Fresh: s.ContentTTL, Stale: 24 * time.Hour},
		FallbackDir: contentDir(s),
		Changing:    a.Data.Queue.ContentChanging,
	})
}

// newServer builds the executor, the GraphQL and REST endpoints on top of it, and the
// HTTP server.
func (a *App) newServer(
	clients, operators *graphqlhttp.Documents,
	limits *httpserver.RateLimits, inFlight *httpserver.InFlight,
	dependencies ...*httpserver.Dependency,
) error {
	s := a.settings
	list, err := documents.All()
	if err != nil {
		return err
	}

	options := executor.Options{
		Resolvers: a.resolver,
		Secrets: executor.Secrets{
			Cache:   s.CacheTokens,
			Webhook: s.WebhookSecrets,
			Admin:   s.AdminTokens,
			Signing: s.SigningSecrets,
		},
		Log:         a.log,
		Now:         time.Now,
		Count:       a.Metrics.Event,
		ContentSize: a.content.Size,
		Documents:   clients,
		Operations:  list,
		Rules:       graphqlhttp.Rules,

		EnterDatabase: inFlight.EnterDatabase,
	}
	if limits != nil {
		options.Charge, options.ChargeAnswer = limits.Charge, limits.ChargeAnswer
	}

	runs := executor.New(options)
	if a.Traces != nil {
		runs.AroundOperations(telemetry.Operation)
	}

	api, err := rest.New(list, runs, Version())
	if err != nil {
		return err
	}

	operatorAPI := graphqlhttp.Options{
		Executor:  runs,
		Documents: operators,
		Revision:  a.content.Revision,
		Load:      a.content.Load,
		Streams:   inFlight,
	}
	public := operatorAPI
	public.Documents = clients
	public.ContentKey, public.CDNMaxAge = content.Key, s.CDNMaxAge

	o := httpserver.Options{
		GraphQL:      graphqlhttp.New(public),
		InboxGraphQL: graphqlhttp.New(operatorAPI),
		REST:         api,
		Dependencies: dependencies,
		InFlight:     inFlight,
		SignIn:       a.signIn(inFlight),
		Settings:     s,
		RateLimits:   limits,
		Trace:        a.Traces.Handler,
		Metrics:      a.Metrics.Registry,
		Log:          a.log,
	}

	if s.MCP {
		o.MCP = mcp.NewHandler(mcp.Options{
			Operations: list,
			Executor:   runs,
			Operator:   runs.Operator,
			Version:    Version(),
			SiteURL:    s.SiteURL,
			Challenge:  s.TurnstileKey != "",
		})
	}
	if o.Pages, err = newPages(s); err != nil {
		return err
	}
	a.Server = httpserver.New(o)
	return nil
}

// signIn returns how operators sign in with their accounts, or nil without OIDC_ISSUER.
func (a *App) signIn(inFlight *httpserver.InFlight) *inbox.SignIn {
	if a.settings.OIDCIssuer == "" {
		return nil
	}
	return &inbox.SignIn{
		Issuer:       a.settings.OIDCIssuer,
		ClientID:     a.settings.OIDCClientID,
		ClientSecret: a.settings.OIDCClientSecret,
		RedirectURL:  a.settings.OIDCRedirectURL,
		GroupsClaim:  a.settings.OIDCGroupsClaim,
		Roles:        a.settings.OIDCRoles,
		Sessions:     a.Data.Tables,
		Now:          time.Now,
		Limit:        inFlight.EnterSignIn,
		Report:       a.reportLogin,
	}
}

// reportLogin counts a login, and logs why one was refused or a session ended.
func (a *App) reportLogin(ctx context.Context, outcome string, err error) {
	a.Metrics.Event("login", outcome)
	if err != nil {
		a.log.Warn().Ctx(ctx).Str("outcome", outcome).Err(err).Msg("login")
	}
}

// newDocuments returns the documents that clients may send, and those that operators may
// send within a session of the inbox, where any document is allowed.
func newDocuments(s *config.Settings) (clients, operators *graphqlhttp.Documents, err error) {
	o := graphqlhttp.DocumentOptions{
		Schema:        exec.AST(),
		Introspection: s.Introspection,
		Suggest:       s.Environment == config.Development,
	}
	if s.OperationsPath != "" {
		if o.Trusted, err = graphqlhttp.ReadTrusted(s.OperationsPath); err != nil {
			return nil, nil, err
		}
	}

	if operators, err = graphqlhttp.NewDocuments(o); err != nil {
		return nil, nil, err
	}

	o.TrustedOnly = s.Operations == "trusted"
	clients, err = graphqlhttp.NewDocuments(o)
	return clients, operators, err
}

// Start begins the background work.
func (a *App) Start(ctx context.Context) error {
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))

	if err := a.Data.Queue.Start(ctx); err != nil {
		return fmt.Errorf("starting the deliveries: %w", err)
	}

	if a.watcher != nil {
		// Each instance has a file of its own, and with memory:// a cache of its own.
		shared := a.settings.CMSDriver != "file" && a.settings.CacheURL.Scheme != "memory"
		a.background.Go(func() { a.content.Watch(ctx, a.watcher, shared) })
	}

	if a.Pull != nil {
		a.background.Go(func() { a.Pull.Run(ctx) })
	}

	a.background.Go(func() { a.upkeep(ctx) })
	a.content.Warm()
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

	return errors.Join(err, a.content.Close(ctx), a.close(), a.Traces.Close(ctx))
}
