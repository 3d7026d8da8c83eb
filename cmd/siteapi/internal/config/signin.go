package config

import (
	"errors"
	"net/url"
	"strings"

	"siteapi/schema"
)

// callbackPath is where the provider of accounts sends a browser back to.
const callbackPath = "/admin/callback"

// checkSignIn reports settings of the sign-in with accounts that are missing, or unsafe.
func (s *Settings) checkSignIn(
	need func(when bool, name, why string), report func(name string, err error),
) {
	on := s.OIDCIssuer != ""
	need(on, "OIDC_CLIENT_ID", "with OIDC_ISSUER: the id of this service at the provider")
	need(on, "OIDC_CLIENT_SECRET", "with OIDC_ISSUER: the secret of this service at the provider")
	need(on, "OIDC_ROLES", "with OIDC_ISSUER: name the groups of each role, such as viewer=marketing,admin=ops")

	if s.OIDCRedirectURL == "" && s.SiteURL != "" {
		s.OIDCRedirectURL = s.SiteURL + callbackPath
	}
	if !on {
		return
	}
	if s.OIDCRedirectURL == "" {
		report("OIDC_REDIRECT_URL", errors.New("is required with OIDC_ISSUER, unless SITE_URL is set"))
	} else if !strings.HasSuffix(s.OIDCRedirectURL, callbackPath) {
		report("OIDC_REDIRECT_URL", errors.New("must end in "+callbackPath))
	}

	for name, address := range map[string]string{
		"OIDC_ISSUER":       s.OIDCIssuer,
		"OIDC_REDIRECT_URL": s.OIDCRedirectURL,
	} {
		u, err := url.Parse(address)
		if err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			report(name, errors.New("must begin with https:// away from this machine: logins are sent to it"))
		}
	}
}

// issuer takes a web address as it is: the tokens of the provider repeat it, with its slash.
func issuer(v string) (string, error) { return v, WebAddress(v) }

// oidcRoles parses the groups of each role: viewer=marketing,sales=sales|desk,admin=ops.
func oidcRoles(v string) (map[string]schema.Role, error) {
	roles := map[string]schema.Role{}
	for _, part := range split(v) {
		name, groups, ok := strings.Cut(part, "=")
		role := schema.Role(strings.ToUpper(strings.TrimSpace(name)))
		if !ok || !role.IsValid() || name != strings.ToLower(name) {
			return nil, errors.New("must name the groups of the roles viewer, sales and admin, " +
				"such as viewer=marketing,sales=sales|desk,admin=ops")
		}

		for group := range strings.SplitSeq(groups, "|") {
			if group = strings.TrimSpace(group); group == "" {
				return nil, errors.New("has an empty group: name one after each = and |")
			}
			if other := roles[group]; other == "" || role.AtLeast(other) {
				roles[group] = role
			}
		}
	}

	return roles, nil
}
