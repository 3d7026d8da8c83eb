package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

func examine(ctx context.Context, c *call) (err error) {
	found, worst := c.Examine(ctx, c.settings, c.server()), schema.HealthStateOk
	colours := map[schema.HealthState]text.Color{
		schema.HealthStateOk: text.FgGreen, schema.HealthStateWarning: text.FgYellow, schema.HealthStateFailed: text.FgRed,
	}
	for _, f := range found {
		if f.State == schema.HealthStateFailed || worst == schema.HealthStateOk {
			worst = f.State
		}
		if c.on("json") {
			continue
		}
		state := fmt.Sprintf("%-7s", word(f.State))
		if terminalWidth(c.out) > 0 {
			state = colours[f.State].Sprint(state)
		}
		c.say("%s %-12s %s", state, f.Name, *f.Detail)
		if f.Advice != nil {
			c.say("%21s-> %s", "", *f.Advice)
		}
	}
	if c.on("json") {
		err = printJSON(c.out, map[string]any{"state": worst, "checks": found})
	}
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

// checks are the results of a check.
type checks []*schema.HealthCheck

func (c checks) add(state schema.HealthState, advice, format string, args ...any) checks {
	detail := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	check := &schema.HealthCheck{State: state, Detail: &detail}
	if advice != "" {
		check.Advice = &advice
	}
	return append(c, check)
}

func (c checks) ok(format string, args ...any) checks {
	return c.add(schema.HealthStateOk, "", format, args...)
}

// warn reports that something works but needs attention.
func (c checks) warn(advice, format string, args ...any) checks {
	return c.add(schema.HealthStateWarning, advice, format, args...)
}

// fail reports that something does not work, or is dangerous.
func (c checks) fail(advice string, err error) checks {
	return c.add(schema.HealthStateFailed, advice, "%v", err)
}

// examination is one run of the doctor.
type examination struct {
	Deps
	*config.Settings
	server  string // address of the running service
	running bool   // another process has the SQLite database open
}

// Examine runs all checks at the same time. The server is the address of the running service, empty: LISTEN_ADDR on this
// machine.
func (d Deps) Examine(ctx context.Context, s *config.Settings, server string) (found []*schema.HealthCheck) {
	e := &examination{d, s, cmp.Or(server, localAddress(s)), s.DatabaseURL == nil && exists(databasePath(s)) && !d.databaseIdle(s)}
	names := []string{"settings", "data folder", "database", "deliveries", "cache", "cms", "crm", "service"}
	run := []func(context.Context) checks{
		e.checkSettings, e.checkFolder, e.checkDatabase, e.checkDeliveries, e.checkCache, e.checkCMS, e.checkCRM, e.checkService,
	}
	results := make([]checks, len(run))
	var group sync.WaitGroup
	for i, check := range run {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			results[i] = check(ctx)
		})
	}
	group.Wait()
	for i, result := range results {
		for _, c := range result {
			c.Name = names[i]
			found = append(found, c)
		}
	}
	return found
}

// checkSettings finds settings that are valid but unsafe in production.
func (e *examination) checkSettings(context.Context) (found checks) {
	if e.Environment != config.Production {
		return found.ok("they can be used, for %s", e.Environment)
	}
	doubt := func(applies bool, detail, advice string) {
		if applies {
			found = found.warn(advice, "%s", detail)
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
		found = found.fail("name the networks of your proxies only",
			errors.New("TRUSTED_PROXIES is so wide that strangers can pretend to be any client"))
	}
	if len(found) == 0 {
		found = found.ok("they can be used, for production")
	}
	return found
}

// isLoopback reports whether a listener is reached from its own machine only.
func isLoopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func since(began time.Time) time.Duration { return time.Since(began).Round(100 * time.Microsecond) }

const beforeStart = "right before the first start, which makes it; else set DATA_DIR to the folder of the service"

// checkFolder writes a file to DATA_DIR.
func (e *examination) checkFolder(context.Context) (found checks) {
	began := time.Now()
	f, err := os.CreateTemp(e.DataDir, ".doctor-")
	if err == nil {
		_, err = f.WriteString("written by a check\n")
		err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return found.warn(beforeStart, "%s does not exist", e.DataDir)
	case err != nil:
		return found.fail("see whose folder it is, whether it is mounted read-only, and whether the disk is full", err)
	}
	found = found.ok("%s, written and synced in %v", e.DataDir, since(began))
	if left, _ := filepath.Glob(filepath.Join(e.DataDir, asidePrefix+"*")); len(left) > 0 {
		return found.warn("remove them once you are sure",
			"%d folders %s… hold what restores have replaced, personal data too", len(left), asidePrefix)
	}
	return found
}

// checkDatabase commits a transaction.
func (e *examination) checkDatabase(ctx context.Context) (found checks) {
	if existing(e.Settings) != nil {
		return found.warn(beforeStart, "there is no database in DATA_DIR")
	}
	var leads int64
	db, err := e.OpenDatabase(ctx, e.Settings)
	if err == nil {
		defer func() { _ = db.Close() }()
		leads, err = db.Archive.CountSubmissions(ctx)
	}
	began := time.Now()
	if err == nil {
		err = db.Quotes.Ping(ctx)
	}
	if err != nil {
		return found.fail("see DATABASE_URL, or the owner and mode of DATA_DIR; `siteapi restore` replaces a damaged file", err)
	}
	return found.ok("%d submissions, written and committed in %v", leads, since(began))
}

// checkDeliveries looks for failed and late deliveries.
func (e *examination) checkDeliveries(ctx context.Context) (found checks) {
	db, err := e.openExisting(ctx, e.Settings)
	if err != nil {
		return found.ok("not checked: the database can't be opened")
	}
	counts, err := db.Queue.Counts(ctx)
	inReview, oldest, reviewErr := db.Archive.InReview(ctx)
	if err := errors.Join(err, reviewErr, db.Close()); err != nil {
		return found.fail("see the database", err)
	}
	for _, c := range counts {
		switch age := time.Since(c.Oldest); {
		case c.Number == 0:
		case c.State == queue.Failed:
			found = found.warn("see why with `siteapi deliveries list --state failed`, repair it, then `siteapi deliveries retry --all`",
				"%d leads were refused by the %s for good", c.Number, c.Target)
		case age > queue.OverdueAge:
			found = found.warn("see why with `siteapi deliveries list`; they are only delivered while a service runs",
				"%d leads are %s for the %s, the oldest for %s", c.Number, c.State, c.Target, seconds(age))
		}
	}
	if inReview > 0 {
		found = found.warn("see `siteapi leads list --state in-review`, then `siteapi leads release` or `reject`",
			"%d leads are in review, the oldest for %s", inReview, seconds(time.Since(oldest)))
	}
	if len(found) == 0 {
		found = found.ok("none is late")
	}
	return found
}

// checkCache stores, reads and removes an entry.
func (e *examination) checkCache(ctx context.Context) (found checks) {
	if e.CacheURL.Scheme == "memory" {
		return found.ok("in the memory of the service: nothing to reach")
	}
	began := time.Now()
	c, err := e.OpenCache(ctx, e.Settings)
	if err == nil {
		err = errors.Join(cacheRoundTrip(ctx, c), c.Close())
	}
	if err != nil {
		return found.fail("see address, user, password and database in CACHE_URL; the service works without it, slower", err)
	}
	return found.ok("%s: stored, read and removed in %v", e.CacheURL.Scheme, since(began))
}

func cacheRoundTrip(ctx context.Context, c cache.Cache) error {
	key := "doctor:" + rand.Text()
	for _, missing := range []error{nil, errors.New("the cache does not keep what is stored")} {
		_, err := c.Get(ctx, key, func(context.Context) ([]byte, cache.Lifetime, error) {
			return []byte(key), cache.Lifetime{Fresh: time.Minute}, missing
		})
		if err != nil {
			return err
		}
	}
	return c.Invalidate(ctx, key)
}

// checkCMS reads the content of a locale, and makes a write that changes nothing.
func (e *examination) checkCMS(ctx context.Context) (found checks) {
	if e.CMSDriver == "file" && !exists(e.ContentPath()) {
		return found.warn("the first start writes one with sample content; edit that, or set CMS_FILE or CMS_DRIVER",
			"there is no file %s", e.ContentPath())
	}
	began := time.Now()
	var docs []cms.Document
	driver, err := e.OpenCMS(e.Settings)
	if err == nil {
		types := append([]string{"siteSettings"}, e.ContentTypes...)
		docs, err = driver.Fetch(ctx, cms.Query{Types: types, Locale: string(schema.DefaultLocale)})
	}
	if err != nil {
		return found.fail(upstreamAdvice(err, "SANITY_TOKEN", "the settings of the CMS"), err)
	}
	took := since(began)
	// Removing what does not exist takes the same right as storing a submission.
	if err := driver.Erase(ctx, []string{"doctor-" + strings.ToLower(rand.Text())}); err != nil {
		return found.fail("give SANITY_TOKEN the role Editor", fmt.Errorf("content can be read, submissions can't be stored: %w", err))
	}
	if !slices.ContainsFunc(docs, func(d cms.Document) bool { return d.Type == "siteSettings" }) {
		return found.warn("create and publish it", "there is no published document of type siteSettings: SiteSettings answers null")
	}
	return found.ok("%s: %d documents in %s, read in %v", e.CMSDriver, len(docs), schema.DefaultLocale, took)
}

// checkCRM looks up a contact that does not exist.
func (e *examination) checkCRM(ctx context.Context) (found checks) {
	if e.CRMDriver == "file" {
		return found.ok("file: nothing to reach")
	}
	began := time.Now()
	contacts, err := e.OpenCRM(e.Settings)
	if err == nil {
		_, err = contacts.Missing(ctx, []string{"doctor@siteapi.invalid"})
	}
	if err != nil {
		return found.fail(upstreamAdvice(err, "HUBSPOT_TOKEN", "HUBSPOT_API_URL"), err)
	}
	return found.ok("%s: answered in %v", e.CRMDriver, since(began))
}

// upstreamAdvice says what to do about an error of the CMS or the CRM.
func upstreamAdvice(err error, token, address string) string {
	switch upstream.KindOf(err) {
	case upstream.Refused:
		return "see whether " + token + " is valid and has the rights that the driver's manual names"
	case upstream.Limited:
		return "the quota is used up: wait, or have it raised"
	}
	return "see " + address + ", and whether this machine reaches the network; leads wait meanwhile and are not lost"
}

// checkService asks the running service for its state.
func (e *examination) checkService(ctx context.Context) (found checks) {
	const advice = "run this with the service's LISTEN_ADDR, or name it with --server"
	answer, err := ask(ctx, http.MethodGet, e.server+"/readyz", "")
	switch {
	case err != nil && e.running:
		return found.warn(advice, "a process has the database open, and none answers at %s", e.server)
	case err != nil:
		return found.ok("none answers at %s", e.server)
	case !strings.Contains(answer.String(), `"dependencies"`):
		return found.fail(advice, fmt.Errorf("what answers at %s is not this service", e.server))
	case answer.StatusCode() != http.StatusOK:
		return found.fail("repair what it depends on; its log has the reasons", fmt.Errorf("%s is not ready: %s", e.server, answer))
	}
	return found.ok("%s is ready", e.server)
}
