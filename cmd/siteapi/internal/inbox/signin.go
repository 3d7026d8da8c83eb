package inbox

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"siteapi/integrations/store"
	"siteapi/schema"
)

const (
	signInCookie = "siteapi_signin"
	signInTime   = 10 * time.Minute
	roleTime     = 15 * time.Minute // how long a role is used before it is checked again
	providerTime = 8 * time.Second  // limits each request to the provider
	checkTime    = 30 * time.Second // limits checking a role: discovery, a token and keys
	pollTime     = 100 * time.Millisecond
)

// SignIn lets operators sign in with their account at an OpenID Connect provider.
//
// Signing in needs no storage: the PKCE verifier is a random cookie, and its hash is state and
// nonce, so any instance can finish it, and only in the browser that began it. A login is a
// row in the database, found by a hash of its cookie. The provider is asked every
// [roleTime] by the refresh token whether the role is still right; without one the page
// signs in again.
type SignIn struct {
	Issuer, ClientID, ClientSecret string
	RedirectURL                    string
	GroupsClaim                    string
	Roles                          map[string]schema.Role // keys: groups
	Logins                         store.Logins
	Now                            func() time.Time

	// Limit counts a request among those that wait for the provider, or returns why there is
	// no room for it.
	Limit func(ctx context.Context) *schema.Error
	// Done ends that, since the request of a stream goes on.
	Done func(ctx context.Context)

	// Report is told how each login began, and why one ended when its role was checked: ok,
	// refused, unavailable or ended. The error is the cause, for the log.
	Report func(ctx context.Context, outcome string, err error)
}

// Discover asks the provider of an issuer for its endpoints. It fails if the provider names
// another issuer.
func Discover(ctx context.Context, issuer string) (*oidc.Provider, error) {
	provider, err := oidc.NewProvider(withClient(ctx), issuer)
	if err != nil {
		return nil, fmt.Errorf("asking the provider at OIDC_ISSUER: %w", err)
	}
	return provider, nil
}

// withClient bounds the requests to the provider.
func withClient(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, &http.Client{Timeout: providerTime})
}

// discover asks for the endpoints unless too many wait for the provider.
func (s *SignIn) discover(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	if limited := s.Limit(ctx); limited != nil {
		return nil, nil, limited
	}
	p, err := Discover(ctx, s.Issuer)
	if err != nil {
		return nil, nil, unavailable(err)
	}

	var supported struct {
		Scopes  []string `json:"scopes_supported"`
		Clients []string `json:"token_endpoint_auth_methods_supported"`
	}
	_ = p.Claims(&supported) // a provider without the lists is asked in the ways that all of them know

	scopes := []string{oidc.ScopeOpenID}
	for _, scope := range []string{oidc.ScopeOfflineAccess, "groups", "email"} {
		if slices.Contains(supported.Scopes, scope) {
			scopes = append(scopes, scope)
		}
	}

	// The library would try both ways, and so redeem each code twice.
	endpoint := p.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if slices.Contains(supported.Clients, "client_secret_post") &&
		!slices.Contains(supported.Clients, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}

	return p, &oauth2.Config{
		ClientID:     s.ClientID,
		ClientSecret: s.ClientSecret,
		Endpoint:     endpoint,
		RedirectURL:  s.RedirectURL,
		Scopes:       scopes,
	}, nil
}

// begin sends the browser to the provider.
func (s *SignIn) begin(w http.ResponseWriter, r *http.Request) {
	_, config, err := s.discover(r.Context())
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	verifier := oauth2.GenerateVerifier()
	state := hashOf(verifier)
	s.setCookie(w, signInCookie, verifier, signInTime, http.SameSiteLaxMode)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r,
		config.AuthCodeURL(state, oidc.Nonce(state), oauth2.S256ChallengeOption(verifier)), http.StatusSeeOther)
}

// callback finishes what the same browser began, and starts a login.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if err := s.finish(w, r); err != nil {
		s.refuse(w, r, err)
		return
	}

	s.Report(r.Context(), "ok", nil)
	http.Redirect(w, r, Path, http.StatusSeeOther)
}

func (s *SignIn) finish(w http.ResponseWriter, r *http.Request) error {
	cookie, err := r.Cookie(signInCookie)
	query := r.URL.Query()
	if err != nil || !hmac.Equal([]byte(query.Get("state")), []byte(hashOf(cookie.Value))) {
		return refused(errors.New("the state is not that of this browser"))
	}
	s.setCookie(w, signInCookie, "", -time.Second, http.SameSiteLaxMode)

	switch code := query.Get("error"); code {
	case "":
	case "server_error", "temporarily_unavailable":
		return unavailable(fmt.Errorf("the provider says %q", code))
	default:
		return refused(fmt.Errorf("the provider says %.100q", code))
	}

	a, err := s.redeem(r.Context(), query.Get("state"),
		func(ctx context.Context, c *oauth2.Config) (*oauth2.Token, error) {
			return c.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(cookie.Value))
		})
	if err != nil {
		return err
	}
	return s.start(w, r, a)
}

func (s *SignIn) setCookie(w http.ResponseWriter, name, value string, life time.Duration, site http.SameSite) {
	setCookie(w, name, value, life, site, strings.HasPrefix(s.RedirectURL, "https://"))
}

// account is what the provider says about an operator.
type account struct {
	subject string
	email   string // empty: the provider names none, or has not verified it
	role    schema.Role
	refresh string
}

// redeem asks the provider for the tokens of a code or of a refresh token, and verifies the
// ID token among them. An empty nonce is not compared.
func (s *SignIn) redeem(
	ctx context.Context, nonce string, ask func(context.Context, *oauth2.Config) (*oauth2.Token, error),
) (account, error) {
	provider, config, err := s.discover(ctx)
	if err != nil {
		return account{}, err
	}
	token, err := ask(withClient(ctx), config)
	if err != nil {
		return account{}, tokenError(err)
	}

	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: s.ClientID, Now: s.Now}).Verify(ctx, raw)
	switch {
	case err != nil && strings.Contains(err.Error(), "fetching keys"): // the library has no error for it
		return account{}, unavailable(err)
	case err != nil:
		return account{}, refused(err)
	case nonce != "" && id.Nonce != nonce:
		return account{}, refused(errors.New("the nonce is another one"))
	case id.Subject == "":
		return account{}, refused(errors.New("the ID token names no subject"))
	}

	var claims map[string]json.RawMessage
	if err := id.Claims(&claims); err != nil {
		return account{}, refused(err)
	}
	role := s.roleOf(claims[s.GroupsClaim])
	if role == "" {
		return account{}, errNoRole
	}
	return account{
		subject: id.Subject,
		email:   emailOf(claims),
		role:    role,
		refresh: token.RefreshToken,
	}, nil
}

// emailOf returns the address in the claims of an ID token, if the provider says that it is
// verified: as a boolean, or as some do as a text.
func emailOf(claims map[string]json.RawMessage) string {
	var email string
	verified := strings.Trim(string(claims["email_verified"]), `"`) == "true"
	if !verified || json.Unmarshal(claims["email"], &email) != nil {
		return ""
	}
	return strings.ToLower(email)
}

// roleOf returns the highest role of the groups in a claim, a list or a single text.
func (s *SignIn) roleOf(claim json.RawMessage) (highest schema.Role) {
	var groups []string
	var group string
	if json.Unmarshal(claim, &group) == nil {
		groups = []string{group}
	} else if json.Unmarshal(claim, &groups) != nil {
		return ""
	}

	for _, name := range groups {
		if role := s.Roles[name]; role.AtLeast(highest) {
			highest = role
		}
	}
	return highest
}
