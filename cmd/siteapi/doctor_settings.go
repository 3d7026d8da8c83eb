package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
)

// secretLeast is how long a secret should be, in characters.
const secretLeast = 20

// checkSettings finds settings that can be used and should not.
func (d *doctor) checkSettings(context.Context) []diagnosis {
	s := d.settings
	if s.Environment != config.Production {
		return []diagnosis{fine("%d settings, for %s: what follows is not as strict as for production", len(config.Table()), s.Environment)}
	}
	found := []diagnosis{fine("%d settings, for production", len(config.Table()))}
	for _, set := range []struct {
		name    string
		secrets []string
	}{
		{"CACHE_API_TOKEN", s.CacheTokens}, {"CMS_WEBHOOK_SECRET", s.WebhookSecrets}, {"CMS_WEBHOOK_SIGNING_SECRET", s.SigningSecrets},
	} {
		for _, secret := range set.secrets {
			if len(secret) < secretLeast {
				found = append(found, warning(fmt.Sprintf("%s: has a value of %d characters, which can be guessed", set.name, len(secret)),
					"set a long random value, for instance from `openssl rand -hex 32`"))
			}
		}
	}
	for _, token := range s.CacheTokens {
		if slices.Contains(s.WebhookSecrets, token) {
			found = append(found, warning("CACHE_API_TOKEN and CMS_WEBHOOK_SECRET share a value: who learns one has both", "set two different values"))
		}
	}
	if s.LogLevel < zerolog.InfoLevel {
		found = append(found, warning(fmt.Sprintf("LOG_LEVEL=%s writes a lot", s.LogLevel), "set LOG_LEVEL=info once you have seen enough"))
	}
	if s.CRMDriver == "file" {
		found = append(found, warning("CRM_DRIVER=file: contacts are files in DATA_DIR, which nobody is told of", "set CRM_DRIVER=hubspot, or look at `siteapi leads list`"))
	}
	if s.CRMDriver == "hubspot" && s.SiteURL == "" {
		found = append(found, warning("SITE_URL is not set: the CRM gets a link to the PDF without a host", "set it to the public address of this service"))
	}
	if strings.HasPrefix(s.SiteURL, "http://") {
		found = append(found, warning("SITE_URL is not https: links to PDFs travel in the clear", "serve the site over https and set that address"))
	}
	return found
}

// checkExposure finds doors that stand open in production.
func (d *doctor) checkExposure(context.Context) []diagnosis {
	s := d.settings
	if s.Environment != config.Production {
		return []diagnosis{fine("playground and introspection are for developers: production has them off")}
	}
	var found []diagnosis
	for _, door := range []struct {
		open           bool
		detail, advice string
	}{
		{s.Playground, "GRAPHQL_PLAYGROUND=on: strangers find a tool to try the API with", "set it to off, unless the API is public on purpose"},
		{s.Introspection, "GRAPHQL_INTROSPECTION=on: strangers can read the whole schema", "set it to off; clients are generated from `siteapi sdl`"},
		{!s.RateLimits, "RATE_LIMITS=off: one address can use up everything", "set it to on, unless a proxy in front limits each client"},
		{slices.Contains(s.CORSOrigins, "*"), "CORS_ALLOWED_ORIGINS=*: any site may have its visitors' browsers call the service", "list the origins of your own sites"},
		{s.AdminAddr != "" && !loopbackAddr(s.AdminAddr), "ADMIN_ADDR=" + s.AdminAddr + ": metrics and profiles have no guard of their own",
			"listen on 127.0.0.1, or see to it that only your own network gets there"},
	} {
		if door.open {
			found = append(found, warning(door.detail, door.advice))
		}
	}
	if len(found) == 0 {
		found = append(found, fine("playground and introspection are off, rate limits on, metrics on this machine only"))
	}
	return found
}

// checkProxies asks whether clients can be told apart, and can't pretend to be others.
func (d *doctor) checkProxies(context.Context) []diagnosis {
	s := d.settings
	var found []diagnosis
	near := loopbackAddr(s.ListenAddr)
	for _, p := range s.TrustedProxies {
		switch {
		case p.Bits() == 0:
			found = append(found, failure("TRUSTED_PROXIES holds "+p.String()+": everybody is believed to be whom they say they are, which lifts every limit",
				"name the networks of your proxies only"))
		case p.Addr().Is4() && p.Bits() < 8, p.Addr().Is6() && p.Bits() < 16:
			found = append(found, warning("TRUSTED_PROXIES holds the very large network "+p.String(), "name the networks of your proxies only"))
		}
	}
	covers := func(addr string) bool {
		return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(netip.MustParseAddr(addr)) })
	}
	if near && !covers("127.0.0.1") && !covers("::1") {
		found = append(found, warning("LISTEN_ADDR is this machine's own, so a proxy speaks for all visitors, and TRUSTED_PROXIES does not name it: they share one rate limit",
			"set TRUSTED_PROXIES=127.0.0.1,::1"))
	}
	switch {
	case len(found) > 0:
	case len(s.TrustedProxies) == 0:
		found = append(found, fine("none are trusted: right if visitors connect directly; behind a proxy set TRUSTED_PROXIES, or all of them share one rate limit"))
	default:
		found = append(found, fine("%d trusted networks", len(s.TrustedProxies)))
	}
	return found
}

// checkWebhook asks whether a publish in the CMS gets here, and only that.
func (d *doctor) checkWebhook(context.Context) []diagnosis {
	s := d.settings
	switch {
	case len(s.WebhookSecrets) == 0:
		return []diagnosis{warning("CMS_WEBHOOK_SECRET is not set: every webhook is refused, so a publish shows after CONTENT_TTL only", "set it here and in the CMS")}
	case s.CMSDriver == "sanity" && len(s.SigningSecrets) == 0 && s.Environment == config.Production:
		return []diagnosis{warning("CMS_WEBHOOK_SIGNING_SECRET is not set: who learns the token can send webhooks, and one overheard can be repeated",
			"set a secret in the CMS's webhook and the same one here")}
	case s.CMSDriver == "file":
		return []diagnosis{fine("the file CMS needs none: a changed file is noticed")}
	}
	return []diagnosis{fine("%d token(s), %d signing secret(s)", len(s.WebhookSecrets), len(s.SigningSecrets))}
}

// loopbackAddr reports whether a listener is reached from its own machine only.
func loopbackAddr(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && nearHost(host)
}

// nearHost reports whether a host is this machine.
func nearHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// openWire reports whether what goes to an address can be read on the way: no TLS, and
// a host that is neither this machine nor on a private network.
func openWire(u *url.URL, secure bool) bool {
	addr, err := netip.ParseAddr(u.Hostname())
	private := err == nil && addr.IsPrivate() || err != nil && !strings.Contains(u.Hostname(), ".")
	return !secure && !nearHost(u.Hostname()) && !private && u.Hostname() != ""
}
