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
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/store"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

func (d Drivers) doctorCommand() *cobra.Command {
	address, asJSON := "", false
	command := d.command("doctor",
		"check settings, disk, database, deliveries, cache, CMS, CRM and sign-in, and say what to do", nil,
		func(ctx context.Context, c *call) error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return c.examine(health.Examine(ctx, c.checks(ctx, address)), asJSON)
		},
		"siteapi doctor",
		"siteapi doctor --json | jq '.checks[] | select(.state != \"OK\")'")

	serverFlag(command.Flags(), &address)
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON, for other programs")
	return command
}

// examine prints what the checks found, and returns a finding if something is wrong.
func (c *call) examine(found []*schema.HealthCheck, asJSON bool) error {
	worst := schema.HealthStateOk
	for _, f := range found {
		if f.State == schema.HealthStateFailed || worst == schema.HealthStateOk {
			worst = f.State
		}
		if asJSON {
			continue
		}
		c.say("%-7s %-12s %s", strings.ToLower(string(f.State)), f.Name, *f.Detail)
		if f.Advice != nil {
			c.say("%21s-> %s", "", *f.Advice)
		}
	}

	if asJSON {
		if err := printJSON(c.out, map[string]any{"state": worst, "checks": found}); err != nil {
			return err
		}
	}
	if worst == schema.HealthStateFailed {
		return finding("something needs repair: see the failed checks")
	}
	return nil
}

// checks returns the checks of the settings, of what the service depends on, and of the service.
// One that depends on a setting that cannot be used is not made: with the default of the setting
// it would examine another system.
func (c *call) checks(ctx context.Context, address string) []health.Check {
	s := c.settings
	list := append(append(Checks(s), c.dependencies(ctx).Checks()...), health.Check{
		Name:   "service",
		Advice: "name the service's address with --server if it is another; its log says why it is not ready",
		Run: func(ctx context.Context, warn health.Warn) (string, error) {
			return checkService(ctx, serviceAt(address, s).Address, existing(s) == nil, warn)
		},
	})

	for i, check := range list {
		if c.wrong.Concern(settingsOf(check.Name)...) {
			list[i].Run = func(_ context.Context, warn health.Warn) (string, error) {
				warn("not checked: its settings can't be used", "correct them, and run this again")
				return "", nil
			}
		}
	}
	list = slices.DeleteFunc(list, func(check health.Check) bool {
		return check.Name == "settings" && len(c.wrong) > 0 || check.Name == "content" && c.wrong.Concern("CMS_FILE")
	})
	for _, problem := range c.wrong {
		name := "settings"
		if problem.Setting == "CMS_FILE" {
			name = "content"
		}
		list = append(list, health.Check{
			Name:   name,
			Advice: "correct it: until then no start is possible",
			Run: func(context.Context, health.Warn) (string, error) {
				return "", fmt.Errorf("%s: %w", problem.Setting, problem.Err)
			},
		})
	}
	return list
}

// settingsOf returns the settings that a check depends on.
func settingsOf(check string) []string {
	content := []string{"DATA_DIR", "CMS_DRIVER", "CMS_FILE", "SANITY_*"}

	switch check {
	case "data folder":
		return []string{"DATA_DIR"}
	case "database", "deliveries", "reviews", "edge", "webhook", "networks":
		return databaseSettings()
	case "cache":
		return []string{"CACHE_URL", "CACHE_PREFIX"}
	case "cms", "cms leads", "content", "preview":
		return append(content, "CONTENT_TYPES")
	case "prices":
		return append(content, databaseSettings()...)
	case "crm":
		return []string{"DATA_DIR", "CRM_DRIVER", "HUBSPOT_*"}
	case "mail":
		return []string{"SMTP_URL", "MAIL_FROM"}
	case "sign-in":
		return []string{"OIDC_*"}
	}
	return nil
}

// dependencies opens what the service depends on, each when it is checked.
func (c *call) dependencies(ctx context.Context) health.Dependencies {
	s := c.settings
	open := sync.OnceValue(func() error { return c.openDatabase(ctx) })

	d := health.Dependencies{
		ContentTypes: s.ContentTypes,
		Preview:      len(s.PreviewTokens) > 0,
		Database: func(context.Context) (store.Quotes, *leads.Service, error) {
			if err := open(); err != nil {
				return nil, nil, err
			}
			return c.db.Quotes, c.rules, nil
		},
		CMS: func() (cms.Content, cms.Eraser, error) {
			// Opening the driver would write the sample content.
			if s.CMSDriver == "file" && missing(s.ContentPath()) {
				return nil, nil, fmt.Errorf("%s: %w", s.ContentPath(), health.ErrNotMade)
			}
			driver, err := c.drivers.OpenCMS(s)
			return driver, driver, err
		},
	}

	if s.CacheURL.Scheme != "memory" {
		d.Cache = func(ctx context.Context) (cache.Cache, error) { return c.drivers.OpenCache(ctx, s) }
	}
	if s.SMTPURL != nil {
		d.Mail = c.drivers.OpenMail(s)
		d.Networks = func(ctx context.Context) (leads, networks int64, err error) {
			if err := open(); err != nil {
				return 0, 0, nil //nolint:nilerr // the check of the database reports it
			}
			return c.db.Tables.MailNetworks(ctx)
		}
	}
	if s.CRMDriver != "file" {
		d.CRM = func() (crm.Lookup, error) { return c.drivers.OpenCRM(s) }
	}
	return d
}

// checkService asks the service whether it is ready. One that does not run is a warning if there
// are leads to deliver.
func checkService(ctx context.Context, address string, stored bool, warn health.Warn) (string, error) {
	answer, err := ask(ctx, http.MethodGet, address+"/readyz", "", nil)
	switch {
	case err != nil && stored:
		warn("none answers at "+address+": while none runs, leads in the database are not delivered",
			"start it, or name its address with --server if it runs elsewhere")
		return "", nil
	case err != nil:
		return "none answers at " + address, nil //nolint:nilerr // it need not run
	case !strings.Contains(answer.String(), `"dependencies"`):
		return "", fmt.Errorf("what answers at %s is not this service", address)
	case answer.StatusCode() != http.StatusOK:
		return "", fmt.Errorf("%s is not ready: %s", address, answer)
	}
	return address + " is ready", nil
}

// checkSignIn asks the provider with whose accounts operators sign in for its endpoints.
func checkSignIn(s *config.Settings) health.Check {
	return health.Check{
		Name: "sign-in",
		Advice: "see OIDC_ISSUER, which is the provider's issuer to the letter, and whether this machine reaches the network; " +
			"meanwhile ADMIN_API_TOKEN opens the inbox on this machine",
		Run: func(ctx context.Context, _ health.Warn) (string, error) {
			if s.OIDCIssuer == "" {
				return "operators have no accounts", nil
			}
			provider, err := inbox.Discover(ctx, s.OIDCIssuer)
			if err != nil {
				return "", err
			}
			return "browsers are sent to " + provider.Endpoint().AuthURL, nil
		},
	}
}

// Checks returns the checks that depend on settings and nothing else.
func Checks(s *config.Settings) []health.Check {
	return []health.Check{
		{
			Name:   "settings",
			Advice: "name the networks of your proxies only",
			Run: func(_ context.Context, warn health.Warn) (string, error) {
				return checkSettings(s, warn)
			},
		},

		{
			Name:   "data folder",
			Advice: "see whose folder it is, whether it is mounted read-only, and whether the disk is full",
			Run: func(_ context.Context, warn health.Warn) (string, error) {
				return checkFolder(s.DataDir, warn)
			},
		},
		checkSignIn(s),
	}
}

// checkSettings finds settings that are valid but unsafe in production.
func checkSettings(s *config.Settings, warn health.Warn) (string, error) {
	if s.Environment != config.Production {
		return "they can be used, for " + s.Environment, nil
	}

	doubt := func(applies bool, detail, advice string) {
		if applies {
			warn(detail, advice)
		}
	}

	doubt(slices.ContainsFunc(slices.Concat(s.CacheTokens, s.WebhookSecrets),
		func(secret string) bool { return len(secret) < 20 }),
		"CACHE_API_TOKEN or CMS_WEBHOOK_SECRET is short enough to be guessed",
		"set long random values, for instance from `openssl rand -hex 32`")

	doubt(s.CMSDriver == "sanity" && len(s.SigningSecrets) == 0,
		"CMS_WEBHOOK_SIGNING_SECRET is not set: a webhook that was overheard can be repeated",
		"set a secret in the CMS's webhook, and the same one here")

	doubt(len(s.ContentTypes) == 0,
		"CONTENT_TYPES is empty: the field content serves no documents",
		"list the document types of your site, such as heroSection,quoteOption")

	doubt(len(s.CORSOrigins) == 0,
		"CORS_ALLOWED_ORIGINS is empty: only pages at the service's own address may call it from a browser",
		"list the origins of your sites; if they have the service's own, that")

	doubt(len(s.AdminTokens) == 0 && s.OIDCIssuer == "",
		"ADMIN_API_TOKEN is empty: the inbox and the operators' fields are closed",
		"set a long random value, for instance from `openssl rand -hex 32`, and give it to sales")

	doubt(s.CRMDriver == "file",
		"CRM_DRIVER=file: contacts are only written to files in DATA_DIR",
		"set CRM_DRIVER=hubspot")

	doubt(!strings.HasPrefix(s.SiteURL, "https://"),
		"SITE_URL is not an https address: the CRM's links to PDFs don't work or travel in the clear",
		"set it to the public address of this service")

	doubt(!s.RateLimits,
		"RATE_LIMITS=off: one address can use up everything",
		"set it to on, unless a proxy limits each client")

	doubt(s.AdminAddr != "" && !isLoopback(s.AdminAddr),
		"ADMIN_ADDR is not on this machine only: metrics and profiles have no guard of their own",
		"listen on 127.0.0.1, or make sure that only your own network reaches it")

	doubt(isLoopback(s.ListenAddr) && len(s.TrustedProxies) == 0,
		"TRUSTED_PROXIES names no proxy, and LISTEN_ADDR needs one: all visitors share one rate limit",
		"set TRUSTED_PROXIES=127.0.0.1,::1")

	if slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Bits() < 8 }) {
		return "", errors.New("TRUSTED_PROXIES is so wide that strangers can pretend to be any client")
	}
	return "they can be used, for production", nil
}

// isLoopback reports whether a listener can be reached only from its own machine.
func isLoopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func checkFolder(path string, warn health.Warn) (string, error) {
	if missing(path) {
		return "", fmt.Errorf("%s: %w", path, health.ErrNotMade)
	}

	f, err := os.CreateTemp(path, ".doctor-")
	if err != nil {
		return "", err
	}

	_, err = f.WriteString("written by a check\n")
	return path + ", written and synced", errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
