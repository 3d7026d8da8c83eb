package operator

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema"
)

// checkTime is how long one check may take.
const checkTime = 20 * time.Second

// doctor is `siteapi doctor`.
func (d Deps) doctor() *cobra.Command {
	return d.command(&cobra.Command{
		Use: "doctor", Short: "check settings, disk, database, deliveries, cache, CMS and CRM, and say what to do",
		Long: "Makes a real round trip to everything the service depends on, before its start or beside it, and removes the\n" +
			"traces again. Exit code 2: something has to be repaired.",
		Example: "  siteapi doctor\n  siteapi doctor --json | jq '.checks[] | select(.state != \"OK\")'",
	}, nil, examine, jsonFlag(), boolFlag("strict", "exit code 2 for warnings too"), serverFlag())
}

// diagnoses collects the results of one check.
type diagnoses struct {
	check string
	found []*schema.HealthCheck
}

func (d *diagnoses) add(state schema.HealthState, advice, detail string) {
	c := &schema.HealthCheck{Name: d.check, State: state, Detail: &detail}
	if advice != "" {
		c.Advice = &advice
	}
	d.found = append(d.found, c)
}

func (d *diagnoses) ok(format string, args ...any) {
	d.add(schema.HealthStateOk, "", fmt.Sprintf(format, args...))
}

// warn says that something works, and should not stay so.
func (d *diagnoses) warn(advice, format string, args ...any) {
	d.add(schema.HealthStateWarning, advice, fmt.Sprintf(format, args...))
}

// fail says that something does not work, or is dangerous.
func (d *diagnoses) fail(advice string, err error) {
	d.add(schema.HealthStateFailed, advice, strings.Join(strings.Fields(err.Error()), " "))
}

// examination is one run of the doctor.
type examination struct {
	Deps
	settings *config.Settings
	server   string // address of the running service
	running  bool   // another process has the SQLite database open
}

// Examine runs all checks at the same time. The server is the address of the running service, empty: LISTEN_ADDR on this
// machine.
func (d Deps) Examine(ctx context.Context, s *config.Settings, server string) []*schema.HealthCheck {
	e := &examination{d, s, cmp.Or(server, localAddress(s)), s.DatabaseURL == nil && exists(databasePath(s)) && !d.databaseIdle(s)}
	names := []string{"settings", "data folder", "database", "deliveries", "cache", "cms", "crm", "service"}
	checks := []func(context.Context, *diagnoses){
		e.checkSettings, e.checkFolder, e.checkDatabase, e.checkDeliveries, e.checkCache, e.checkCMS, e.checkCRM, e.checkService,
	}
	results := make([]diagnoses, len(checks))
	var group sync.WaitGroup
	for i, check := range checks {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, checkTime)
			defer cancel()
			results[i].check = names[i]
			check(ctx, &results[i])
		})
	}
	group.Wait()
	var found []*schema.HealthCheck
	for _, r := range results {
		found = append(found, r.found...)
	}
	return found
}

func examine(ctx context.Context, c *call) error {
	server, err := c.server()
	if err != nil {
		return err
	}
	found, worst := c.Examine(ctx, c.settings, server), schema.HealthStateOk
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
		return finding("something has to be repaired: see what failed")
	case worst == schema.HealthStateWarning && c.on("strict"):
		return finding("there are warnings")
	}
	return nil
}

// checkSettings finds settings that can be used and should not, in production.
func (e *examination) checkSettings(_ context.Context, found *diagnoses) {
	s := e.settings
	if s.Environment != "production" {
		found.ok("they can be used, for %s", s.Environment)
		return
	}
	for _, doubt := range []struct {
		applies        bool
		detail, advice string
	}{
		{slices.ContainsFunc(slices.Concat(s.CacheTokens, s.WebhookSecrets), func(secret string) bool { return len(secret) < 20 }),
			"CACHE_API_TOKEN or CMS_WEBHOOK_SECRET is short enough to be guessed", "set long random values, for instance from `openssl rand -hex 32`"},
		{s.CMSDriver == "sanity" && len(s.SigningSecrets) == 0, "CMS_WEBHOOK_SIGNING_SECRET is not set: a webhook that was overheard can be repeated",
			"set a secret in the CMS's webhook, and the same one here"},
		{s.CRMDriver == "file", "CRM_DRIVER=file: contacts are only written to files in DATA_DIR", "set CRM_DRIVER=hubspot"},
		{!strings.HasPrefix(s.SiteURL, "https://"), "SITE_URL is not an https address: the CRM's links to PDFs don't work or travel in the clear",
			"set it to the public address of this service"},
		{s.Playground || s.Introspection, "GRAPHQL_PLAYGROUND or GRAPHQL_INTROSPECTION is on", "set both to off, unless the API is meant for strangers"},
		{!s.RateLimits, "RATE_LIMITS=off: one address can use up everything", "set it to on, unless a proxy limits each client"},
		{slices.Contains(s.CORSOrigins, "*"), "CORS_ALLOWED_ORIGINS=*: every site may call the service from its visitors' browsers",
			"list the origins of your own sites"},
		{s.AdminAddr != "" && !isLoopback(s.AdminAddr), "ADMIN_ADDR is not on this machine only: metrics and profiles have no guard of their own",
			"listen on 127.0.0.1, or make sure that only your own network reaches it"},
		{isLoopback(s.ListenAddr) && len(s.TrustedProxies) == 0, "TRUSTED_PROXIES names no proxy, and LISTEN_ADDR needs one: all visitors share one rate limit",
			"set TRUSTED_PROXIES=127.0.0.1,::1"},
	} {
		if doubt.applies {
			found.warn(doubt.advice, "%s", doubt.detail)
		}
	}
	for _, p := range s.TrustedProxies {
		if p.Bits() < 8 {
			found.fail("name the networks of your proxies only", fmt.Errorf("TRUSTED_PROXIES holds %v: strangers can pretend to be any client", p))
		}
	}
	if len(found.found) == 0 {
		found.ok("they can be used, for production")
	}
}

// isLoopback reports whether a listener is reached from its own machine only.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
