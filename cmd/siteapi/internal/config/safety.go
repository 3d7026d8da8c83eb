package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/edge"
)

// callbackPath is where the provider of accounts sends a browser back to.
const callbackPath = "/admin/callback"

// unpurgedMax is how long a cache in front may keep an answer that it is not told to drop.
const unpurgedMax = time.Minute

// checkSafety finds settings that work but would harm a site. Those that only expose it, such as
// tokens that others know, are refused in production, and development warns of them.
func (s *Settings) checkSafety() {
	s.checkTokens()
	for _, name := range []string{"SANITY_API_URL", "HUBSPOT_API_URL", "TURNSTILE_API_URL"} {
		if inClear(s.values[name]) {
			s.doubt(name, "must begin with https:// away from this machine: a token is sent to it")
		}
	}

	if lacks := s.calculatorLacks(); s.FrontPage && lacks != "" {
		if s.given["FRONT_PAGE"] {
			s.refuse("CONTENT_TYPES", lacks)
		} else {
			s.Warnings = append(s.Warnings, "CONTENT_TYPES "+lacks)
		}
	}

	if s.CDNMaxAge > unpurgedMax && len(s.PurgeURLs) == 0 {
		s.refuse("CDN_MAX_AGE",
			"must be 1m at most without CDN_PURGE_URL: a publication would not be seen for so long")
	}
	cdn, _ := edge.Find(s.PurgeKind)
	if cdn.Public && s.Environment != Development && strings.Contains(s.values["CDN_PURGE_URL"], "http:") {
		s.refuse("CDN_PURGE_URL", "must begin with https://: the token is sent to it")
	}

	if s.OIDCIssuer == "" {
		return
	}
	if !strings.HasSuffix(s.OIDCRedirectURL, callbackPath) {
		s.refuse("OIDC_REDIRECT_URL", "must end in "+callbackPath+", and is required unless SITE_URL is set")
	}
	for name, address := range map[string]string{
		"OIDC_ISSUER":       s.OIDCIssuer,
		"OIDC_REDIRECT_URL": s.OIDCRedirectURL,
	} {
		if inClear(address) {
			s.refuse(name, "must begin with https:// away from this machine: logins are sent to it")
		}
	}
}

// doubt refuses a setting in production, and warns of it in development.
func (s *Settings) doubt(name, why string) {
	if s.Environment == Development {
		s.Warnings = append(s.Warnings, name+" "+why+": production refuses it")
		return
	}
	s.refuse(name, why)
}

// checkTokens doubts well-known tokens of development in any setting, tokens that are easy to
// guess, and tokens that have more than one purpose.
func (s *Settings) checkTokens() {
	var known []string
	for _, item := range Table() {
		if item.token && item.Development != "" {
			known = append(known, item.Development)
		}
	}

	long := []string{"ADMIN_API_TOKEN", "ADMIN_TOKENS", "PREVIEW_TOKENS"}
	purposes := map[string]string{} // the setting that a token was found in, by token
	for _, item := range Table() {
		if !item.Secret || !s.given[item.Name] {
			continue
		}

		for _, value := range split(s.values[item.Name]) {
			value = value[strings.LastIndexByte(value, ':')+1:] // the name of its holder is no part of it
			other := purposes[value]
			if item.token {
				purposes[value] = item.Name
			}

			switch {
			case slices.Contains(known, value):
				s.doubt(item.Name, "holds the well-known value of development: replace it")
			case item.token && other != "" && other != item.Name:
				s.doubt(item.Name, "holds a token of "+other+", which would have two purposes: take another")
			case slices.Contains(long, item.Name) && len(value) < 16 && s.Environment != Development:
				s.refuse(item.Name, "is easy to guess: take 16 characters or more, "+
					"for instance from `openssl rand -hex 32`")
			}
		}
	}
}

// inClear reports whether an address leads to another machine without TLS.
func inClear(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	host := u.Hostname()
	ip, _ := netip.ParseAddr(host)
	return host != "localhost" && !strings.HasSuffix(host, ".localhost") && !ip.IsLoopback()
}
