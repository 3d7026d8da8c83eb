package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/edge"
	"siteapi/integrations/upstream"
	"siteapi/schema/request"
)

// callbackPath is the path to which the OpenID Connect provider redirects browsers.
const callbackPath = "/admin/callback"

// unpurgedMax bounds the lifetime of responses in a CDN that is not purged.
const unpurgedMax = time.Minute

// require refuses missing settings that others require.
func (s *Settings) require() {
	const longValue = "in production: set a long random value, for instance from `openssl rand -hex 32`, " +
		"or set ENVIRONMENT=development to try the service out"
	const newSecret = ": set one, for instance `echo whsec_$(openssl rand -base64 32)`"
	production := s.Environment != Development
	sanity, accounts := s.CMSDriver == "sanity", s.OIDCIssuer != ""
	sendsMails := s.MailDriver() != "" && s.MailDriver() != "file"

	for _, needed := range []struct {
		when      bool
		name, why string
	}{
		{production, "CACHE_API_TOKEN", longValue},
		{production, "CMS_WEBHOOK_SECRET", longValue},
		{sanity, "SANITY_PROJECT_ID",
			"with CMS_DRIVER=sanity: copy it from the project's page in the management console"},
		{sanity, "SANITY_TOKEN",
			"with CMS_DRIVER=sanity: create one with the role Editor, which stores leads"},
		{s.CRMDriver == "hubspot", "HUBSPOT_TOKEN",
			"with CRM_DRIVER=hubspot: create a service key with the scopes in the driver's manual"},
		{s.Operations == "trusted", "GRAPHQL_DOCUMENTS",
			"with GRAPHQL_OPERATIONS=trusted: set the folder or manifest of the clients' documents"},
		{s.LeadWebhookURL != "" && s.LeadWebhookFormat == "json", "LEAD_WEBHOOK_SECRET",
			"with LEAD_WEBHOOK_FORMAT=json" + newSecret},
		{s.PurgeURLs != nil, "CDN_PURGE_KIND", "with CDN_PURGE_URL: set one of " + edge.Kinds()},
		{s.PurgeURLs != nil, "CDN_PURGE_TOKEN", "with CDN_PURGE_URL: set a token that may purge"},
		{s.RevalidateURLs != nil, "REVALIDATE_SECRET", "with REVALIDATE_URLS" + newSecret},
		{sendsMails, "MAIL_FROM",
			"with SMTP_URL: set the sender's address, which also receives bounces"},
		{sendsMails, "SALES_MAIL_TO", "with SMTP_URL: set the addresses to notify of new leads"},
		{s.AdminPage && !accounts && len(s.NamedTokens) == 0, "ADMIN_API_TOKEN",
			"with ADMIN_PAGE=on: set a long random value, or ADMIN_TOKENS, or OIDC_ISSUER for accounts"},
		{s.MCPSignIn, "OIDC_ISSUER", "with MCP_SIGN_IN=on: operators sign in with their account"},
		{s.MCPSignIn, "SITE_URL", "with MCP_SIGN_IN=on: assistants find the service at this address"},
		{accounts, "OIDC_CLIENT_ID", "with OIDC_ISSUER: set the id of this service at the provider"},
		{accounts, "OIDC_CLIENT_SECRET", "with OIDC_ISSUER: set the secret of this service at the provider"},
		{accounts, "OIDC_ROLES",
			"with OIDC_ISSUER: set the groups of each role, such as viewer=marketing,admin=ops"},
	} {
		if needed.when && strings.Trim(s.values[needed.name], ", ") == "" {
			s.refuse(needed.name, "is required "+needed.why)
		}
	}
}

// checkSafety finds settings that work but would harm a site. Settings that only weaken
// its security, such as well-known tokens, are refused in production and cause a warning
// in development.
func (s *Settings) checkSafety() {
	s.checkTokens()
	for _, item := range Table() {
		if item.parser == "API" && inClear(s.values[item.Name]) {
			s.refuseInProduction(item.Name,
				"must begin with https:// for another machine: a token is sent to it")
		}
	}

	if s.CMSDriver == "sanity" && strings.HasPrefix(s.SanityDataset, "~") {
		s.refuseInProduction("SANITY_DATASET", "must be a dataset and not an alias: "+
			"leads are stored in it, and the URLs of images contain its name")
	}

	if lacks := s.calculatorLacks(); s.FrontPage && lacks != "" {
		if s.given["FRONT_PAGE"] {
			s.refuse("CONTENT_TYPES", lacks)
		} else {
			s.Warnings = append(s.Warnings, "CONTENT_TYPES "+lacks)
		}
	}

	if samePort(s.ListenAddr, s.AdminAddr) {
		s.refuse("ADMIN_ADDR",
			"must have another port than LISTEN_ADDR: one listener gets it, and the other can't start")
	}
	if s.CDNMaxAge > unpurgedMax && len(s.PurgeURLs) == 0 {
		s.refuse("CDN_MAX_AGE",
			"must be at most 1m without CDN_PURGE_URL: visitors would see outdated content for that long")
	}
	cdn, _ := edge.Find(s.PurgeKind)
	if cdn.Public && s.Environment != Development && strings.Contains(s.values["CDN_PURGE_URL"], "http:") {
		s.refuse("CDN_PURGE_URL", "must begin with https://: the token is sent to it")
	}

	if s.MCPSignIn && !s.MCP {
		s.refuse("MCP_SIGN_IN", "needs MCP=on")
	}
	if site, err := url.Parse(s.SiteURL); s.MCPSignIn &&
		(err != nil || site.Path != "" || inClear(s.SiteURL)) {
		s.refuse("SITE_URL", "must be an https address without a path with MCP_SIGN_IN=on: "+
			"the metadata for assistants is at its root")
	}

	if s.OIDCIssuer == "" {
		return
	}
	if back, err := url.Parse(s.OIDCRedirectURL); err != nil || back.Path != callbackPath ||
		!strings.HasSuffix(s.OIDCRedirectURL, callbackPath) {
		s.refuse("OIDC_REDIRECT_URL", "must be an address with the path "+callbackPath+
			", and is required unless SITE_URL is set and has no path")
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

	for i, t := range s.NamedTokens {
		if slices.ContainsFunc(s.NamedTokens[:i],
			func(o request.OperatorToken) bool { return o.Token == t.Token }) {
			s.refuse("ADMIN_TOKENS", "has one token twice: give each operator another")
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
				s.refuseInProduction(item.Name,
					"contains a token of "+other+": set another, so that each has one purpose")
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
