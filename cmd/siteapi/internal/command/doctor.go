package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
	"siteapi/resolvers/health"
	"siteapi/schema"
)

func (d commands) doctorCommand() *cobra.Command {
	address, asJSON := "", false
	command := d.diagnosis("doctor",
		"check settings, disk, database, deliveries, cache, CMS, CRM and sign-in, and recommend repairs",
		func(ctx context.Context, c *call) error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return c.examine(health.Examine(ctx, c.checks(ctx, address)), asJSON)
		},
		"siteapi doctor",
		"siteapi doctor --json | jq '.checks[] | select(.state != \"OK\")'")

	serverFlag(command.Flags(), &address)
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON for other programs")
	return command
}

// examine prints the results of the checks, and returns a finding if one failed.
func (c *call) examine(found []*schema.HealthCheck, asJSON bool) error {
	worst := schema.HealthStateOk
	for _, f := range found {
		if f.State == schema.HealthStateFailed ||
			f.State == schema.HealthStateWarning && worst == schema.HealthStateOk {
			worst = f.State
		}
	}

	if asJSON {
		if err := printJSON(c.out, map[string]any{"state": worst, "checks": found}); err != nil {
			return err
		}
		found = nil
	}
	for _, f := range found {
		c.printLine("%-7s %-12s %s", strings.ToLower(string(f.State)), f.Name, *f.Detail)
		if f.Advice != nil {
			c.printLine("%21s-> %s", "", *f.Advice)
		}
	}

	if worst == schema.HealthStateFailed {
		return finding("problems were found: see the failed checks")
	}
	return nil
}

// checks returns the checks of the settings, the dependencies and the service itself. A
// check with an invalid setting is skipped, since it would examine the system that the
// default selects.
func (c *call) checks(ctx context.Context, address string) []health.Check {
	service := health.Check{
		Name: "service",
		Advice: "set the address of the service with --server if it differs; see its log for why " +
			"it is not ready",
		Run: func(ctx context.Context, warn health.Warn) (string, error) {
			return c.checkService(ctx, serviceAt(address, c.settings).Address, warn)
		},
	}
	if address == "" {
		service.Settings = []string{"LISTEN_ADDR"}
	}

	list := slices.Concat(Checks(c.settings), c.open.Checks(c.dependencies(ctx)), []health.Check{service})
	for i, check := range list {
		if c.wrong.Concern(check.Settings...) {
			list[i].Run = func(context.Context, health.Warn) (string, error) {
				return "", health.Skipped("its settings are invalid: correct them, and run this again")
			}
		}
	}

	if len(c.wrong) > 0 {
		list = slices.DeleteFunc(list, func(check health.Check) bool { return check.Name == "settings" })
	}
	for _, problem := range c.wrong {
		list = append(list, health.Check{
			Name:   "settings",
			Advice: "correct it: the service cannot start until then",
			Run: func(context.Context, health.Warn) (string, error) {
				return "", fmt.Errorf("%s: %w", problem.Setting, problem.Err)
			},
		})
	}
	return list
}

// dependencies returns the systems of the service, which are opened when they are
// checked.
func (c *call) dependencies(ctx context.Context) health.Dependencies {
	s := c.settings
	open := sync.OnceValue(func() error { return c.openDatabase(ctx) })

	d := health.Dependencies{
		Database: func(context.Context) (*store.Store, *queue.Queue, error) {
			if err := open(); err != nil {
				return nil, nil, err
			}
			return c.db.Store, c.db.Queue, nil
		},
		CMS: func() (cms.Content, cms.Eraser, error) {
			// Opening the driver would write the sample content.
			if s.CMSDriver == "file" && missing(s.ContentPath()) {
				return nil, nil, fmt.Errorf("%s: %w", s.ContentPath(), health.ErrNotCreated)
			}
			driver, err := c.open.CMS()
			return driver, driver, err
		},
	}

	if s.CacheURL.Scheme != "memory" {
		d.Cache = func(ctx context.Context) (cache.Cache, error) {
			entries, _, err := c.open.Cache(ctx)
			return entries, err
		}
	}
	if s.CRMDriver != "file" {
		d.CRM = func() (health.CRM, error) { return c.open.CRM() }
	}
	return d
}

// checkService checks whether the service is ready. It warns if no service is running
// although there is a database.
func (c *call) checkService(ctx context.Context, address string, warn health.Warn) (string, error) {
	response, err := ask(ctx, http.MethodGet, address+"/readyz", "", nil)
	switch {
	case err != nil && systems.CheckDatabase(c.settings) == nil:
		warn("no service is running at "+address+": leads in the database are not delivered",
			"start it, or set its address with --server if it runs elsewhere")
		return "", nil
	case err != nil:
		return "", health.Skipped("no service is running at " + address)
	case !strings.Contains(response.String(), `"dependencies"`):
		return "", fmt.Errorf("the server at %s is not this service", address)
	case response.StatusCode() != http.StatusOK:
		return "", fmt.Errorf("%s is not ready: %s", address, response)
	}
	return address + " is ready", nil
}

// settingsChecks are the checks that depend only on settings.
type settingsChecks struct{ *config.Settings }

// Checks returns the checks that depend only on settings.
func Checks(s *config.Settings) []health.Check {
	c := settingsChecks{s}

	return []health.Check{
		{
			Name:   "settings",
			Run:    c.settings,
			Advice: "list only the networks of your proxies",
		},
		{
			Name: "data folder",
			Run:  c.folder,
			Advice: "check the owner of the folder, whether it is mounted read-only, and whether " +
				"the disk is full",
			Settings: []string{"DATA_DIR"},
		},
		{
			Name:     "instances",
			Run:      c.instances,
			Settings: []string{"DATABASE_URL", "CACHE_URL", "TRUSTED_PROXIES"},
		},
		{
			Name: "sign-in",
			Run:  c.signIn,
			Advice: "check the network, and that OIDC_ISSUER is exactly the provider's issuer; " +
				"meanwhile ADMIN_API_TOKEN opens the inbox on this machine",
			Settings: []string{"OIDC_*"},
		},
		{
			Name: "assistants",
			Run:  c.assistants,
			Advice: "let the proxy at SITE_URL pass on " + inbox.ResourceMetadataPath + ", " +
				inbox.ServerMetadataPath +
				", " + inbox.ResourcePath + " and the paths below it, and the header Authorization",
			Settings: []string{"MCP_SIGN_IN", "SITE_URL"},
		},
	}
}

// assistants calls the paths for assistants at SITE_URL, as they do, and finds what a proxy in
// front does not pass on.
func (c settingsChecks) assistants(ctx context.Context, _ health.Warn) (string, error) {
	if !c.MCPSignIn {
		return "", health.Skipped("assistants do not sign in")
	}

	for _, probe := range []struct {
		method, path, token string
		status              int
		want                string // in the body, or in the header WWW-Authenticate
	}{
		{http.MethodGet, inbox.ResourceMetadataPath, "", 200,
			`"resource":"` + c.SiteURL + inbox.ResourcePath + `"`},
		{http.MethodGet, inbox.ServerMetadataPath, "", 200, `"issuer":"` + c.SiteURL + `"`},
		{http.MethodPost, inbox.TokenPath, "", 400, `"error":"unsupported_grant_type"`},
		{http.MethodPost, inbox.ResourcePath, "", 401, inbox.ResourceMetadataPath},
		{http.MethodPost, inbox.ResourcePath, "of-doctor", 401, `error="invalid_token"`},
	} {
		response, err := ask(ctx, probe.method, c.SiteURL+probe.path, probe.token, nil)
		if err != nil {
			return "", err
		}
		got := response.String() + response.Header().Get("WWW-Authenticate")
		if response.StatusCode() == probe.status && strings.Contains(got, probe.want) {
			continue
		}
		if probe.token != "" && response.StatusCode() == probe.status {
			return "", fmt.Errorf("the header Authorization does not arrive at %s", c.SiteURL+probe.path)
		}
		return "", fmt.Errorf("%s %s is not answered by this service: status %d, without %s",
			probe.method, c.SiteURL+probe.path, response.StatusCode(), probe.want)
	}
	return "assistants reach " + c.SiteURL + inbox.ResourcePath + "; for signing in, see sign-in", nil
}

// signIn fetches the endpoints of the operators' OpenID Connect provider, and finds an address
// to which it returns browsers that does not lead here.
func (c settingsChecks) signIn(ctx context.Context, warn health.Warn) (string, error) {
	if c.OIDCIssuer == "" {
		return "", health.Skipped("single sign-on is off")
	}

	provider, err := inbox.Discover(ctx, c.Settings)
	if err != nil {
		return "", err
	}

	back := strings.TrimSuffix(c.OIDCRedirectURL, inbox.CallbackPath) + inbox.OperatorPath
	response, err := ask(ctx, http.MethodGet, back, "", nil)
	if err == nil && !strings.Contains(response.String(), string(schema.CodeUnauthenticated)) {
		err = fmt.Errorf("the inbox does not answer at %s: status %d", back, response.StatusCode())
	}
	if err != nil {
		warn("nobody can sign in where the provider returns browsers, as far as this machine sees: "+
			err.Error(),
			"set OIDC_REDIRECT_URL to the address at which browsers reach the inbox: that of ADMIN_ADDR, "+
				"or that of the site with ADMIN_PAGE=on")
	}
	return fmt.Sprintf("browsers are redirected to %s, with the scopes %s: %s",
		provider.Endpoint().AuthURL, strings.Join(provider.OAuth.Scopes, " "), provider.ScopesFrom), nil
}

// settings finds settings that are valid but unsafe in production.
func (c settingsChecks) settings(_ context.Context, warn health.Warn) (string, error) {
	if c.Environment != config.Production {
		return "valid for " + c.Environment, nil
	}

	warnIf := func(applies bool, detail, advice string) {
		if applies {
			warn(detail, advice)
		}
	}

	warnIf(slices.ContainsFunc(slices.Concat(c.CacheTokens, c.WebhookSecrets),
		func(secret string) bool { return len(secret) < 20 }),
		"CACHE_API_TOKEN or CMS_WEBHOOK_SECRET is short enough to be guessed",
		"set long random values, for instance from `openssl rand -hex 32`")

	warnIf(c.CMSDriver != "file" && len(c.SigningSecrets) == 0,
		"CMS_WEBHOOK_SIGNING_SECRET is not set: an intercepted webhook can be replayed",
		"set the same secret here and in the webhook of the CMS")

	warnIf(len(c.ContentTypes) == 0,
		"CONTENT_TYPES is empty: the field content serves no documents",
		"list the document types of your site, such as heroSection,quoteOption")

	warnIf(len(c.CORSOrigins) == 0,
		"CORS_ALLOWED_ORIGINS is empty: only pages of the service itself may call it from a browser",
		"list the origins of your sites, or the origin of the service if they share it")

	warnIf(len(c.AdminTokens) == 0 && c.OIDCIssuer == "",
		"ADMIN_API_TOKEN is empty: the inbox and operators' fields are off",
		"set a long random value, for instance from `openssl rand -hex 32`, and give it to sales")

	warnIf(c.CRMDriver == "file",
		"CRM_DRIVER=file: contacts are only written to files in DATA_DIR",
		"set CRM_DRIVER=hubspot")

	warnIf(c.LeadRetention == 0,
		"LEAD_RETENTION is not set: leads are stored without limit",
		"set the time that your privacy notice names, such as 730d")

	warnIf(c.TrackContact == "on",
		"TRACK_CONTACT=on: what visitors type is stored before they submit it, without their consent",
		"set TRACK_CONTACT=consent, and ask for the consent save_progress; or set it to off")

	warnIf(!strings.HasPrefix(c.SiteURL, "https://"),
		"SITE_URL is not an https address: links to PDFs in the CRM do not work or are not encrypted",
		"set it to the public address of this service")

	warnIf(!c.RateLimits,
		"RATE_LIMITS=off: one address can overload the service",
		"set it to on, unless a proxy limits each client")

	warnIf(c.AdminAddr != "" && !isLoopback(c.AdminAddr),
		"ADMIN_ADDR can be reached from other machines: metrics and profiles need no token",
		"use 127.0.0.1, or make sure that only your own network can reach it")

	warnIf(c.RateLimits && isLoopback(c.ListenAddr) && len(c.TrustedProxies) == 0,
		"TRUSTED_PROXIES is empty, but LISTEN_ADDR requires a proxy: all visitors share one rate limit",
		"set TRUSTED_PROXIES=127.0.0.1,::1")

	if slices.ContainsFunc(c.TrustedProxies, func(p netip.Prefix) bool { return p.Bits() < 8 }) {
		return "", errors.New("TRUSTED_PROXIES is so wide that anyone can pretend to be any client")
	}
	return "valid for production", nil
}

// instances finds what several instances lack. A database or a cache on a server is
// taken as the intention to run several.
func (c settingsChecks) instances(_ context.Context, warn health.Warn) (string, error) {
	memory := c.CacheURL.Scheme == "memory"
	if c.DatabaseURL == nil && memory {
		return "one: its database and its cache are on this machine", nil
	}

	warnIf := func(applies bool, detail, advice string) {
		if applies {
			warn(detail, advice+", unless only one instance runs")
		}
	}

	warnIf(c.DatabaseURL == nil,
		"DATABASE_URL is empty: each instance stores its own leads",
		"set it to a PostgreSQL server, and run `siteapi store copy`")

	warnIf(memory,
		"CACHE_URL is memory://: each instance clears its own cache, and counts requests on its own",
		"set it to a Valkey server")

	warnIf(c.CMSDriver == "file",
		"CMS_DRIVER=file: each instance serves the content of its own file",
		"set CMS_DRIVER=sanity")

	warnIf(c.CRMDriver == "file",
		"CRM_DRIVER=file: a contact is in the DATA_DIR of the instance that delivered the lead",
		"set CRM_DRIVER=hubspot")

	warnIf(c.RateLimits && len(c.TrustedProxies) == 0,
		"TRUSTED_PROXIES is empty: behind a load balancer all visitors share one rate limit",
		"list the addresses of the load balancer")

	return "several can share the database and the cache", nil
}

// isLoopback reports whether a listener can be reached only from this machine.
func isLoopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen)
	return upstream.IsLocal(host)
}

// folder writes a file to DATA_DIR. It warns of data there that is older than an erasure.
func (c settingsChecks) folder(_ context.Context, warn health.Warn) (string, error) {
	path := c.DataDir
	if missing(path) {
		return "", fmt.Errorf("%s: %w", path, health.ErrNotCreated)
	}

	if detail, advice := systems.CopyNotice(c.Settings); detail != "" {
		warn(detail, advice)
	}
	if old := systems.OldDatabase(c.Settings); old != "" {
		warn(old+" keeps everybody, also who is erased from PostgreSQL",
			"if `siteapi store copy` has copied it to this DATABASE_URL, delete it, with "+old+"-wal and "+
				old+"-shm, unless you may go back to it; if not, its leads are nowhere else: copy it to an "+
				"empty database")
	}

	f, err := os.CreateTemp(path, ".doctor-")
	if err != nil {
		return "", err
	}

	_, err = f.WriteString("written by a check\n")
	return path + ", written and synced", errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
