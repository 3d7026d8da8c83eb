package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// checkSafety finds settings that work but would expose a site: tokens that others know,
// one token for several purposes, and secrets that travel in clear. Production refuses
// them, each with its reason; development warns of them.
func (s *Settings) checkSafety(report func(name string, err error)) {
	doubt := func(name, reason string) {
		if s.Environment == Development {
			s.Warnings = append(s.Warnings, name+" "+reason+": production refuses it")
			return
		}
		report(name, errors.New(reason))
	}

	s.checkTokens(doubt)

	for _, name := range []string{"SANITY_API_URL", "HUBSPOT_API_URL", "TURNSTILE_API_URL"} {
		if u, err := url.Parse(s.values[name]); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			doubt(name, "must begin with https:// away from this machine: a token is sent to it")
		}
	}

	if s.Environment == Development && s.FrontPage && !s.given["FRONT_PAGE"] {
		if err := s.calculatorContent(); err != nil {
			s.Warnings = append(s.Warnings, "CONTENT_TYPES "+err.Error())
		}
	}
}

// checkTokens doubts well-known tokens of development that were set for production, in
// any setting, and tokens that have more than one purpose.
func (s *Settings) checkTokens(doubt func(name, reason string)) {
	known := []string{DevCacheToken, DevWebhookSecret, DevAdminToken, DevPreviewToken}
	separate := []string{
		"CACHE_API_TOKEN", "ADMIN_API_TOKEN", "ADMIN_TOKENS", "CMS_WEBHOOK_SECRET", "CMS_WEBHOOK_SIGNING_SECRET", "CDN_PURGE_TOKEN",
		"PREVIEW_TOKENS",
	}
	purposes := map[string]string{} // the setting that a token was found in, by token

	for _, item := range s.table() {
		if !item.Secret || !s.given[item.Name] {
			continue
		}

		values := split(s.values[item.Name])
		if slices.ContainsFunc(values, func(v string) bool { return slices.Contains(known, v) }) {
			doubt(item.Name, "holds the well-known value of development: replace it")
		}

		if !slices.Contains(separate, item.Name) {
			continue
		}
		for _, value := range values {
			value = value[strings.LastIndexByte(value, ':')+1:] // without the name of its holder
			if other := purposes[value]; other != "" && other != item.Name {
				doubt(item.Name, fmt.Sprintf("holds a token of %s, which would have two purposes: take another", other))
				break
			}
			purposes[value] = item.Name
		}
	}
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
}
