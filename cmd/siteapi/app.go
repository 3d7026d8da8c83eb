package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/pdf"
	"siteapi/integrations/queue"
	"siteapi/integrations/quote"
	"siteapi/resolvers"
	"siteapi/resolvers/graphqlhttp"
	"siteapi/rest"
	"siteapi/schema"
)

type quoteSubmission = quote.Submission

// Times that hold for every site.
const (
	cmsTimeout    = 5 * time.Second  // of one call to the CMS
	staleFor      = 24 * time.Hour   // how long expired content is served while it is refreshed
	pruneInterval = time.Hour        // between two looks for what is to be forgotten
	drainTimeout  = 20 * time.Second // for requests and deliveries under way at a stop
)

// app is the service with everything it is made of.
type app struct {
	settings *config.Settings
	log      zerolog.Logger
	handler  http.Handler
	routes   []rest.Route
	health   *health
	metrics  *metrics
	limits   *limits // nil: nobody is limited
	data     *database
	queue    *queue.Queue
	resolver *resolvers.Resolver
	watcher  cms.Watcher // nil: the CMS driver notices nothing itself
	times    serverTimes
	traces   *traces // nil: nothing is traced
	closers  []func() error
	stop     context.CancelFunc // ends what start began
	work     sync.WaitGroup
}

// newApp builds the service without starting any work. Changes reach what no setting
// does, for tests.
func newApp(ctx context.Context, s *config.Settings, log zerolog.Logger, changes ...func(*work)) (_ *app, err error) {
	a := &app{settings: s, log: log, health: &health{}, metrics: newMetrics(), times: defaultTimes()}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if err := os.MkdirAll(s.DataDir, 0o750); err != nil {
		return nil, fmt.Errorf("DATA_DIR: making the folder: %w", err)
	}
	if a.traces, err = openTraces(ctx, s, log); err != nil {
		return nil, err
	}
	if a.traces != nil {
		log = log.Hook(traceFields{})
		a.log = log
	}
	outside := &observer{a.metrics.call, a.traces}
	content, err := openCMS(s, log, outside)
	if err != nil {
		return nil, err
	}
	a.watcher, _ = content.(cms.Watcher)
	contacts, err := openCRM(s, log, outside, a.metrics.gap)
	if err != nil {
		return nil, fmt.Errorf("opening the CRM: %w", err)
	}
	store, conn, err := openCache(ctx, s, log)
	if err != nil {
		return nil, err
	}
	if conn != nil {
		a.closers = append(a.closers, func() error { conn.Close(); return nil })
	}
	a.closers = append(a.closers, store.Close)
	store = a.metrics.meter(store)
	a.limits = newLimits(s, conn)
	w := work{senders: senders(s, content, contacts), observe: a.metrics.delivery}
	for _, change := range changes {
		change(&w)
	}
	a.traces.senders(w.senders)
	if a.data, err = openDatabase(ctx, s, w, log); err != nil {
		return nil, err
	}
	a.closers = append(a.closers, a.data.close)
	a.queue = a.data.queue
	a.metrics.watchQueue(a.queue)
	var files []string
	if s.DatabaseURL == nil {
		path := filepath.Join(s.DataDir, databaseFile)
		files = []string{path, path + "-wal"}
	}
	a.data.quotes = a.metrics.watchDatabase(a.data, files...)
	renderer, err := pdf.New(pdf.Options{Log: log})
	if err != nil {
		return nil, fmt.Errorf("preparing the PDF renderer: %w", err)
	}
	logo, err := pdf.NewLogoLoader(pdf.LogoOptions{AllowedHosts: s.LogoHosts})
	if err != nil {
		return nil, fmt.Errorf("LOGO_HOSTS: %w", err)
	}
	drawing := newBoundedRenderer(renderer, rendersAtOnce())
	a.resolver = resolvers.New(resolvers.Deps{
		CMS: content, Cache: store, Quotes: a.data.quotes, PDF: drawing, Logo: logo, FallbackDir: filepath.Join(s.DataDir, "content"), Log: log,
		Now: time.Now, NewID: func() string { return strings.ToLower(rand.Text()) },
		CacheTokens: s.CacheTokens, WebhookSecrets: s.WebhookSecrets, SigningSecrets: s.SigningSecrets,
		ContentTypes: s.ContentTypes, ContentLife: cache.Lifetime{Fresh: s.ContentTTL, Stale: staleFor},
		Development: s.Environment == config.Development, MinTime: s.SpamMinTime, Challenge: openChallenge(s, outside),
		Count: a.metrics.event, Trace: a.traces.parent(),
	})
	a.health.probes = []*probe{
		{name: "database", required: true, ask: a.data.quotes.Ping, life: nearLife, log: log},
		{name: "cache", ask: func(ctx context.Context) error {
			if !store.Stats(ctx).Available {
				return cache.ErrUnavailable
			}
			return nil
		}, life: nearLife, log: log},
		{name: "cms", ask: content.Ping, life: remoteLife, log: log},
		{name: "crm", ask: contacts.Ping, life: remoteLife, log: log},
	}
	a.metrics.watchDependencies(a.health.probes)
	return a, a.buildDoors()
}

// buildDoors puts both doors over one executor, and the front before them.
func (a *app) buildDoors() error {
	s := a.settings
	documents := graphqlhttp.DocumentOptions{
		Schema: schema.AST(), Introspection: s.Introspection, TrustedOnly: s.Operations == "trusted",
	}
	if s.OperationsPath != "" {
		var err error
		if documents.Trusted, err = graphqlhttp.ReadTrusted(s.OperationsPath); err != nil {
			return fmt.Errorf("GRAPHQL_DOCUMENTS: %w", err)
		}
	}
	docs, err := graphqlhttp.NewDocuments(documents)
	if err != nil {
		return fmt.Errorf("GRAPHQL_DOCUMENTS: %w", err)
	}
	exec := resolvers.NewExecutor(a.resolver, resolvers.ExecutorOptions{
		Documents: docs, Charge: a.charge, Suggestions: s.Environment == config.Development,
	})
	executor := a.traces.executor(exec)
	routes, err := rest.New(executor, schema.AST(), rest.Options{Version: versionText()})
	if err != nil {
		return err
	}
	a.routes = routes.Routes()
	endpoint, err := graphqlhttp.New(graphqlhttp.Options{
		Executor: executor, Documents: docs, Revision: a.resolver.Revision,
	})
	if err != nil {
		return err
	}
	switchboard := &switchboard{graphql: a.counted(endpoint), rest: routes, exact: map[string]http.Handler{
		"/healthz": readOnly(http.HandlerFunc(a.health.live)),
		"/readyz":  readOnly(http.HandlerFunc(a.health.ready)),
	}}
	if s.Playground {
		page, err := newPlayground(s)
		if err != nil {
			return err
		}
		switchboard.playground = readOnly(page)
	}
	g := &gate{next: switchboard, most: int64(s.MaxRequests), shed: a.metrics.shed, clients: map[string]int{}}
	if s.RateLimits {
		g.perClient = mostOfClient
	}
	a.metrics.watchGate(g)
	f := &front{
		next: g, callers: &callers{proxies: s.TrustedProxies}, cors: newCORS(s.CORSOrigins), log: a.log,
		route: routeName(routes), observe: a.metrics.request,
	}
	if a.limits != nil {
		f.limit = a.limits.check
	}
	a.handler = a.traces.handler(f, f.route)
	return nil
}

// counted counts the operations that the GraphQL endpoint answers.
func (a *app) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		said := &schema.CallerFrom(r.Context()).Summary
		outcome := a.metrics.operation(said)
		a.traces.outcome(r.Context(), outcome)
		if v, ok := w.(*visit); ok {
			v.kept = said.Cached
			v.tracked = said.Code == "" && len(said.RootFields) == 1 && said.RootFields[0] == "trackQuote"
		}
	})
}

// charge counts a root field against the limit of its REST route, where it has one.
func (a *app) charge(ctx context.Context, field string) *schema.Error {
	if a.limits == nil {
		return nil
	}
	for _, route := range a.routes {
		if route.Field.Name == field {
			return a.limits.charge(ctx, route.Method+" "+route.Path)
		}
	}
	return nil
}

// routeName names the route of a request for metrics: of few different values,
// whatever strangers ask for.
func routeName(api *rest.API) func(r *http.Request) string {
	known := map[string]bool{"/graphql": true, "/playground": true, "/healthz": true, "/readyz": true, rest.DescriptionPath: true}
	for _, route := range api.Routes() {
		known[route.Path] = true
	}
	return func(r *http.Request) string {
		if known[r.URL.Path] {
			return r.URL.Path
		}
		return "other"
	}
}

// start begins the work beside answering requests.
func (a *app) start(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	if a.settings.DatabaseURL == nil {
		lock := serviceLock(a.settings)
		if _, err := lock.TryRLock(); err != nil {
			return fmt.Errorf("DATA_DIR: locking the folder: %w", err)
		}
		a.closers = append(a.closers, lock.Close)
	}
	if err := a.queue.Start(work); err != nil {
		return fmt.Errorf("starting the deliveries: %w", err)
	}
	if a.watcher != nil {
		a.work.Go(func() {
			err := a.watcher.Watch(work, func() {
				if err := a.resolver.ContentChanged(work); err != nil {
					a.log.Error().Err(err).Msg("invalidating changed content")
				}
			})
			if err != nil && work.Err() == nil {
				a.log.Error().Err(err).Msg("watching the content file")
			}
		})
	}
	a.work.Go(func() { a.forgetOld(work) })
	a.work.Go(func() { a.reportOverdue(work) })
	a.resolver.Warm()
	return nil
}

// shutdown ends the work that start began and closes everything. What is left undone
// is done after the next start.
func (a *app) shutdown(ctx context.Context) error {
	var errs []error
	if a.stop != nil {
		errs = append(errs, a.queue.Stop(ctx))
		a.stop()
		a.work.Wait()
	}
	errs = append(errs, a.resolver.Close(ctx), a.close(), a.traces.close(ctx))
	return errors.Join(errs...)
}

func (a *app) close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i]())
	}
	a.closers = nil
	return errors.Join(errs...)
}
