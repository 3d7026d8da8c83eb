package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

func examine(ctx context.Context, c *call) error {
	found, worst := c.Examine(ctx, c.settings, c.server()), schema.HealthStateOk
	for _, f := range found {
		if f.State == schema.HealthStateFailed || worst == schema.HealthStateOk {
			worst = f.State
		}
	}
	err := c.printResult(map[string]any{"state": worst, "checks": found}, func() {
		colours := map[schema.HealthState]text.Color{
			schema.HealthStateOk: text.FgGreen, schema.HealthStateWarning: text.FgYellow, schema.HealthStateFailed: text.FgRed,
		}
		for _, f := range found {
			state := fmt.Sprintf("%-7s", word(f.State))
			if terminalWidth() > 0 {
				state = colours[f.State].Sprint(state)
			}
			c.say("%s %-12s %s", state, f.Name, *f.Detail)
			if f.Advice != nil {
				c.say("%21s-> %s", "", *f.Advice)
			}
		}
	})
	switch {
	case err != nil:
		return err
	case worst == schema.HealthStateFailed:
		return finding("something needs repair: see the failed checks")
	case worst == schema.HealthStateWarning && c.on("strict"):
		return finding("there are warnings")
	}
	return nil
}

// examination is one run of the doctor.
type examination struct {
	Deps
	*config.Settings
	server   string // address of the running service
	running  bool   // another process has the SQLite database open
	database func() (*Database, error)
}

// check is one check of the doctor. It returns what works, or the error that its advice is for.
type check struct {
	name, advice string
	run          func(context.Context, *check) (string, error)
	found        []*schema.HealthCheck
}

func (c *check) add(state schema.HealthState, detail, advice string) {
	detail = strings.Join(strings.Fields(detail), " ")
	found := &schema.HealthCheck{Name: c.name, State: state, Detail: &detail}
	if advice != "" {
		found.Advice = &advice
	}
	c.found = append(c.found, found)
}

// warn reports that something works but needs attention.
func (c *check) warn(detail, advice string) { c.add(schema.HealthStateWarning, detail, advice) }

// Examine runs all checks at the same time. The server is the address of the running service, empty: LISTEN_ADDR on this
// machine.
func (d Deps) Examine(ctx context.Context, s *config.Settings, server string) (found []*schema.HealthCheck) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	e := &examination{Deps: d, Settings: s, server: cmp.Or(server, localAddress(s))}
	e.running = s.DatabaseURL == nil && exists(databasePath(s)) && !d.databaseIdle(s)
	e.database = sync.OnceValues(func() (*Database, error) { return d.openExisting(ctx, s) })
	upstreams := "and whether this machine reaches the network; leads wait meanwhile and are not lost"
	checks := []*check{
		{name: "settings", run: e.checkSettings, advice: "name the networks of your proxies only"},
		{name: "data folder", run: e.checkFolder,
			advice: "see whose folder it is, whether it is mounted read-only, and whether the disk is full"},
		{name: "database", run: e.checkDatabase,
			advice: "see DATABASE_URL, or the owner and mode of DATA_DIR; `siteapi restore` replaces a damaged file"},
		{name: "deliveries", run: e.checkDeliveries, advice: "see the database"},
		{name: "cache", run: e.checkCache,
			advice: "see address, user, password and database in CACHE_URL; the service works without it, slower"},
		{name: "cms", run: e.checkCMS, advice: "see the settings of the CMS, " + upstreams},
		{name: "crm", run: e.checkCRM, advice: "see HUBSPOT_API_URL, " + upstreams},
		{name: "service", run: e.checkService,
			advice: "name the service's address with --server if it is another; its log says why it is not ready"},
	}
	var group sync.WaitGroup
	for _, c := range checks {
		group.Go(func() { c.conclude(ctx) })
	}
	group.Wait()
	if db, err := e.database(); err == nil {
		_ = db.Close()
	}
	for _, c := range checks {
		found = append(found, c.found...)
	}
	return found
}

// conclude runs the check and reports that it works, unless there are warnings, or what to do.
func (c *check) conclude(ctx context.Context) {
	began := time.Now()
	works, err := c.run(ctx, c)
	switch kind := upstream.KindOf(err); {
	case err == nil && len(c.found) > 0:
	case err == nil:
		if took := time.Since(began).Round(time.Millisecond); took > 0 {
			works = fmt.Sprintf("%s (%v)", works, took)
		}
		c.add(schema.HealthStateOk, works, "")
	case errors.Is(err, fs.ErrNotExist):
		c.warn(err.Error(), "right before the first start, which makes it; else set DATA_DIR to the folder of the service")
	case kind == upstream.Refused:
		c.add(schema.HealthStateFailed, err.Error(), "see whether SANITY_TOKEN or HUBSPOT_TOKEN is valid and has the rights that "+
			"the driver's manual names, for Sanity the role Editor")
	case kind == upstream.Limited:
		c.add(schema.HealthStateFailed, err.Error(), "the quota is used up: wait, or have it raised")
	default:
		c.add(schema.HealthStateFailed, err.Error(), c.advice)
	}
}

// checkSettings finds settings that are valid but unsafe in production.
func (e *examination) checkSettings(_ context.Context, c *check) (string, error) {
	if e.Environment != config.Production {
		return "they can be used, for " + e.Environment, nil
	}
	doubt := func(applies bool, detail, advice string) {
		if applies {
			c.warn(detail, advice)
		}
	}
	doubt(slices.ContainsFunc(slices.Concat(e.CacheTokens, e.WebhookSecrets), func(secret string) bool { return len(secret) < 20 }),
		"CACHE_API_TOKEN or CMS_WEBHOOK_SECRET is short enough to be guessed",
		"set long random values, for instance from `openssl rand -hex 32`")
	doubt(e.CMSDriver == "sanity" && len(e.SigningSecrets) == 0,
		"CMS_WEBHOOK_SIGNING_SECRET is not set: a webhook that was overheard can be repeated",
		"set a secret in the CMS's webhook, and the same one here")
	doubt(e.CRMDriver == "file", "CRM_DRIVER=file: contacts are only written to files in DATA_DIR", "set CRM_DRIVER=hubspot")
	doubt(!strings.HasPrefix(e.SiteURL, "https://"),
		"SITE_URL is not an https address: the CRM's links to PDFs don't work or travel in the clear",
		"set it to the public address of this service")
	doubt(e.Playground || e.Introspection, "GRAPHQL_PLAYGROUND or GRAPHQL_INTROSPECTION is on",
		"set both to off, unless the API is meant for strangers")
	doubt(!e.RateLimits, "RATE_LIMITS=off: one address can use up everything", "set it to on, unless a proxy limits each client")
	doubt(slices.Contains(e.CORSOrigins, "*"), "CORS_ALLOWED_ORIGINS=*: every site may call the service from its visitors' browsers",
		"list the origins of your own sites")
	doubt(e.AdminAddr != "" && !isLoopback(e.AdminAddr),
		"ADMIN_ADDR is not on this machine only: metrics and profiles have no guard of their own",
		"listen on 127.0.0.1, or make sure that only your own network reaches it")
	doubt(isLoopback(e.ListenAddr) && len(e.TrustedProxies) == 0,
		"TRUSTED_PROXIES names no proxy, and LISTEN_ADDR needs one: all visitors share one rate limit",
		"set TRUSTED_PROXIES=127.0.0.1,::1")
	if slices.ContainsFunc(e.TrustedProxies, func(p netip.Prefix) bool { return p.Bits() < 8 }) {
		return "", errors.New("TRUSTED_PROXIES is so wide that strangers can pretend to be any client")
	}
	return "they can be used, for production", nil
}

// isLoopback reports whether a listener is reached from its own machine only.
func isLoopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkFolder writes a file to DATA_DIR.
func (e *examination) checkFolder(_ context.Context, c *check) (string, error) {
	f, err := os.CreateTemp(e.DataDir, ".doctor-")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString("written by a check\n")
	if left, _ := filepath.Glob(filepath.Join(e.DataDir, asidePrefix+"*")); len(left) > 0 {
		c.warn(fmt.Sprintf("%d folders %s… hold what restores have replaced, personal data too", len(left), asidePrefix),
			"remove them once you are sure")
	}
	return e.DataDir + ", written and synced", errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

// checkDatabase commits a transaction.
func (e *examination) checkDatabase(ctx context.Context, _ *check) (string, error) {
	db, err := e.database()
	if err != nil {
		return "", err
	}
	stored, err := db.Archive.CountSubmissions(ctx)
	return fmt.Sprintf("%d submissions, written and committed", stored), errors.Join(err, db.Quotes.Ping(ctx))
}

// checkDeliveries looks for failed and late deliveries.
func (e *examination) checkDeliveries(ctx context.Context, c *check) (string, error) {
	db, err := e.database()
	if err != nil {
		return "not checked: the database can't be opened", nil //nolint:nilerr // the check of the database reports it
	}
	counts, err := db.Queue.Counts(ctx)
	inReview, oldest, reviewErr := db.Archive.InReview(ctx)
	for _, n := range counts {
		switch age := time.Since(n.Oldest); {
		case n.Number == 0:
		case n.State == queue.Failed:
			c.warn(fmt.Sprintf("%d leads were refused by the %s for good", n.Number, n.Target),
				"see why with `siteapi deliveries list --state failed`, repair it, then `siteapi deliveries retry --all`")
		case age > queue.OverdueAge:
			c.warn(fmt.Sprintf("%d leads are %s for the %s, the oldest for %s", n.Number, n.State, n.Target, seconds(age)),
				"see why with `siteapi deliveries list`; they are only delivered while a service runs")
		}
	}
	if inReview > 0 {
		c.warn(fmt.Sprintf("%d leads are in review, the oldest for %s", inReview, seconds(time.Since(oldest))),
			"see `siteapi leads list --state in-review`, then `siteapi leads release` or `reject`")
	}
	return "none is late", errors.Join(err, reviewErr)
}

// checkCache stores, reads and removes an entry.
func (e *examination) checkCache(ctx context.Context, _ *check) (string, error) {
	if e.CacheURL.Scheme == "memory" {
		return "in the memory of the service: nothing to reach", nil
	}
	c, err := e.OpenCache(ctx, e.Settings)
	if err != nil {
		return "", err
	}
	key := "doctor:" + rand.Text()
	for _, missing := range []error{nil, errors.New("the cache does not keep what is stored")} {
		_, getErr := c.Get(ctx, key, func(context.Context) ([]byte, cache.Lifetime, error) {
			return []byte(key), cache.Lifetime{Fresh: time.Minute}, missing
		})
		err = errors.Join(err, getErr)
	}
	return e.CacheURL.Scheme + ": stored, read and removed", errors.Join(err, c.Invalidate(ctx, key), c.Close())
}

// checkCMS reads the content of a locale, and makes a write that changes nothing.
func (e *examination) checkCMS(ctx context.Context, c *check) (string, error) {
	if e.CMSDriver == "file" {
		if _, err := os.Stat(e.ContentPath()); err != nil {
			return "", err // opening it would write the sample content
		}
	}
	driver, err := e.OpenCMS(e.Settings)
	if err != nil {
		return "", err
	}
	types := append([]string{"siteSettings"}, e.ContentTypes...)
	docs, err := driver.Fetch(ctx, cms.Query{Types: types, Locale: string(schema.DefaultLocale)})
	if err != nil {
		return "", err
	}
	// Removing what does not exist takes the same right as storing a submission.
	if err := driver.Erase(ctx, []string{"doctor-" + strings.ToLower(rand.Text())}); err != nil {
		return "", fmt.Errorf("content can be read, submissions can't be stored: %w", err)
	}
	if !slices.ContainsFunc(docs, func(d cms.Document) bool { return d.Type == "siteSettings" }) {
		c.warn("there is no published document of type siteSettings: SiteSettings answers null", "create and publish it")
	}
	return fmt.Sprintf("%s: %d documents in %s, read", e.CMSDriver, len(docs), schema.DefaultLocale), nil
}

// checkCRM looks up a contact that does not exist.
func (e *examination) checkCRM(ctx context.Context, _ *check) (string, error) {
	if e.CRMDriver == "file" {
		return "file: nothing to reach", nil
	}
	contacts, err := e.OpenCRM(e.Settings)
	if err != nil {
		return "", err
	}
	_, err = contacts.Missing(ctx, []string{"doctor@siteapi.invalid"})
	return e.CRMDriver + ": answered", err
}

// checkService asks the running service for its state.
func (e *examination) checkService(ctx context.Context, c *check) (string, error) {
	answer, err := ask(ctx, http.MethodGet, e.server+"/readyz", "")
	switch {
	case err != nil && e.running:
		c.warn("a process has the database open, and none answers at "+e.server, c.advice)
		return "", nil
	case err != nil:
		return "none answers at " + e.server, nil
	case !strings.Contains(answer.String(), `"dependencies"`):
		return "", fmt.Errorf("what answers at %s is not this service", e.server)
	case answer.StatusCode() != http.StatusOK:
		return "", fmt.Errorf("%s is not ready: %s", e.server, answer)
	}
	return e.server + " is ready", nil
}
