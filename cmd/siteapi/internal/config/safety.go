package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/edge"
	"siteapi/integrations/upstream"
)

// callbackPath is the path to which the OpenID Connect provider redirects browsers.
const callbackPath = "/admin/callback"

// unpurgedMax bounds the lifetime of responses in a CDN that is not purged.
const unpurgedMax = time.Minute

// checkSafety finds settings that work but would harm a site. Settings that only weaken
// its security, such as well-known tokens, are refused in production and cause a warning
// in development.
func (s *Settings) checkSafety() {
	s.checkTokens()
	for _, name := range []string{"SANITY_API_URL", "HUBSPOT_API_URL", "TURNSTILE_API_URL"} {
		if inClear(s.values[name]) {
			s.refuseInProduction(name, "must begin with https:// for another machine: a token is sent to it")
		}
	}

	if s.CMSDriver == "sanity" && strings.HasPrefix(s.SanityDataset, "~") {
		s.refuseInProduction("SANITY_DATASET", "must be a dataset and not an alias: "+
			"leads are written to it, and the addresses of its images have its name")
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
			"must be at most 1m without CDN_PURGE_URL: visitors would see outdated content for that long")
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
			s.refuse(name, "must begin with https:// for another machine: logins are sent to it")
		}
	}
}

// refuseInProduction refuses a setting in production, and adds a warning in development.
func (s *Settings) refuseInProduction(name, why string) {
	if s.Environment == Development {
		s.Warnings = append(s.Warnings, name+" "+why+": production rejects it")
		return
	}
	s.refuse(name, why)
}

// checkTokens finds well-known development tokens, tokens that are easy to guess, and
// tokens that several settings share.
func (s *Settings) checkTokens() {
	var known []string
	for _, item := range Table() {
		if item.token && item.Development != "" {
			known = append(known, item.Development)
		}
	}

	long := []string{"ADMIN_API_TOKEN", "ADMIN_TOKENS", "PREVIEW_TOKENS"}
	purposes := map[string]string{} // setting by token
	for _, item := range Table() {
		if !item.Secret || !s.given[item.Name] {
			continue
		}

		for _, value := range split(s.values[item.Name]) {
			value = value[strings.LastIndexByte(value, ':')+1:] // skips the name and role of its holder
			other := purposes[value]
			if item.token {
				purposes[value] = item.Name
			}

			switch {
			case slices.Contains(known, value):
				s.refuseInProduction(item.Name, "contains the well-known development token: replace it")
			case item.token && other != "" && other != item.Name:
				s.refuseInProduction(item.Name, "contains a token of "+other+": set another, so that each has one purpose")
			case slices.Contains(long, item.Name) && len(value) < 16 && s.Environment != Development:
				s.refuse(item.Name, "is easy to guess: use at least 16 characters, "+
					"for instance from `openssl rand -hex 32`")
			}
		}
	}
}

// inClear reports whether an address uses plain HTTP and is not on this machine.
func inClear(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http" && !upstream.IsLocal(u.Hostname())
}
