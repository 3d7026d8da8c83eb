package inbox

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/maypok86/otter/v2"
	"golang.org/x/oauth2"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

const (
	attemptCookie = "siteapi_signin_"       // before the state of an attempt to sign in
	otherCookie   = "siteapi_other_account" // The next attempt asks for another account.
	attemptTime   = 10 * time.Minute
	maxPlace      = 512              // bytes
	maxHint       = 4 << 10          // bytes of an ID token in an address
	roleTime      = 15 * time.Minute // time between checks of a role
	providerTime  = 8 * time.Second  // timeout of a request to the provider
	maxProvider   = 1 << 20          // bytes of its response
	checkTime     = 30 * time.Second // timeout of a check of a role: discovery, a token and keys
	pollTime      = 100 * time.Millisecond
)

// SignIn lets operators sign in with their account at an OpenID Connect provider.
//
// Signing in needs no storage: the PKCE verifier is a random cookie, and its hash is the
// state and the nonce. Any instance can finish it, but only in the same browser. A login
// is a row in the database with a hash of its cookie. Every [roleTime], the refresh token
// is used to check the role. Without a refresh token, the page signs in again.
type SignIn struct {
	*config.Settings
	Logins *store.Store

	// Limit counts a request that waits for the provider, or returns an error if there
	// are too many.
	Limit func(ctx context.Context) *schema.Error
	// Done ends this count before the request ends, since a stream stays open.
	Done func(ctx context.Context)

	// LimitGrant counts a request of an assistant by its grant, which the context has in place
	// of the client's address, or returns an error if there are too many.
	LimitGrant func(ctx context.Context) *schema.Error

	// Report receives the outcome of each attempt to sign in, and of each failed check of
	// a role: ok, refused, no_role, scope, assistant, limited, unavailable or ended. The error is the cause.
	Report func(ctx context.Context, outcome string, err error)

	clients *otter.Cache[string, knownClient]
}

// NewSignIn returns a handler with the fields of s.
func NewSignIn(s SignIn) *SignIn {
	s.clients = otter.Must(&otter.Options[string, knownClient]{MaximumSize: maxClients})
	return &s
}

// Provider is an OpenID Connect provider, as it describes itself.
type Provider struct {
	*oidc.Provider
	OAuth      oauth2.Config
	ScopesFrom string // why its scopes are requested
	EndSession string // address at which a person logs out; empty: none
}

// Discover fetches the endpoints of the provider. It fails if the provider reports another
// issuer.
func Discover(ctx context.Context, s *config.Settings) (*Provider, error) {
	p, err := oidc.NewProvider(withClient(ctx), s.OIDCIssuer)
	if err != nil {
		return nil, fmt.Errorf("discovering the endpoints of OIDC_ISSUER: %w", err)
	}

	var metadata struct {
		Scopes     []string `json:"scopes_supported"`
		Clients    []string `json:"token_endpoint_auth_methods_supported"`
		EndSession string   `json:"end_session_endpoint"`
	}
	_ = p.Claims(&metadata) // The standard has defaults for missing lists.
	if at := p.Endpoint(); at.AuthURL == "" || at.TokenURL == "" {
		return nil, errors.New("the provider names no authorization_endpoint or no token_endpoint")
	}

	// The library would try both styles, and thus redeem each code twice.
	endpoint := p.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if slices.Contains(metadata.Clients, "client_secret_post") &&
		!slices.Contains(metadata.Clients, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}

	scopes, from := scopesOf(s, metadata.Scopes)
	return &Provider{
		Provider: p,
		OAuth: oauth2.Config{
			ClientID:     s.OIDCClientID,
			ClientSecret: s.OIDCClientSecret,
			Endpoint:     endpoint,
			RedirectURL:  s.OIDCRedirectURL,
			Scopes:       scopes,
		},
		ScopesFrom: from,
		EndSession: metadata.EndSession,
	}, nil
}

// scopesOf returns the scopes to request and why: those of OIDC_SCOPES, or those that the
// service has a use for and the provider lists. The standard defines the first two.
func scopesOf(s *config.Settings, listed []string) (scopes []string, from string) {
	scopes = []string{oidc.ScopeOpenID}
	useful := []string{"profile", "email", oidc.ScopeOfflineAccess, "groups"}
	switch {
	case s.OIDCScopes != nil:
		others := slices.DeleteFunc(slices.Clone(s.OIDCScopes), func(scope string) bool {
			return scope == oidc.ScopeOpenID
		})
		return append(scopes, others...), "OIDC_SCOPES names them"
	case len(listed) == 0:
		return append(scopes, useful[:2]...), "the provider lists none"
	}

	for _, scope := range useful {
		if slices.Contains(listed, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, "the provider lists them"
}

// withClient sets the limits of requests to the provider.
func withClient(ctx context.Context) context.Context {
	client := &http.Client{Timeout: providerTime, Transport: upstream.Transport(maxProvider)}
	return oidc.ClientContext(ctx, client)
}

// discover fetches the endpoints, unless too many requests wait for the provider.
func (s *SignIn) discover(ctx context.Context) (*Provider, error) {
	if limited := s.Limit(ctx); limited != nil {
		return nil, limited
	}
	p, err := Discover(ctx, s.Settings)
	if err != nil {
		return nil, unavailable(err)
	}
	return p, nil
}

// begin signs in, and returns to a place in the inbox, which is a fragment.
func (s *SignIn) begin(w http.ResponseWriter, r *http.Request) {
	place := r.URL.Query().Get("place")
	if !strings.HasPrefix(place, "#") || len(place) > maxPlace {
		place = ""
	}
	s.request(w, r, attempt{oauth2.GenerateVerifier(), place})
}

// request redirects the browser to the provider.
func (s *SignIn) request(w http.ResponseWriter, r *http.Request, a attempt) {
	p, err := s.discover(r.Context())
	if err != nil {
		s.refuse(w, r, a, err)
		return
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.state()), oauth2.S256ChallengeOption(a.verifier)}
	if _, err := r.Cookie(otherCookie); err == nil {
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	}

	s.store(w, a)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, p.OAuth.AuthCodeURL(a.state(), options...), http.StatusSeeOther)
}

// attempt is an attempt to sign in. It has a cookie of its own, so that several tabs can sign
// in at once.
type attempt struct {
	verifier string
	place    string // fragment of the inbox to which it returns, or assistantPlace
}

func (a attempt) state() string { return hashOf(a.verifier) }

// store sets the cookie of an attempt. The rate limit of the path bounds their number.
func (s *SignIn) store(w http.ResponseWriter, a attempt) {
	value := a.verifier + "." + base64.RawURLEncoding.EncodeToString([]byte(a.place))
	s.setCookie(w, attemptCookie+a.state(), value, attemptTime, http.SameSiteLaxMode)
}

// take returns the attempt of a callback, and removes its cookie. It returns false if the
// attempt was not begun in this browser.
func (s *SignIn) take(w http.ResponseWriter, r *http.Request) (a attempt, ok bool) {
	state := r.URL.Query().Get("state")
	cookie, err := r.Cookie(attemptCookie + state)
	if err != nil {
		return a, false
	}

	verifier, place, _ := strings.Cut(cookie.Value, ".")
	decoded, _ := base64.RawURLEncoding.DecodeString(place) // an invalid place is none
	a = attempt{verifier, string(decoded)}
	s.setCookie(w, cookie.Name, "", -time.Second, http.SameSiteLaxMode)
	return a, hmac.Equal([]byte(state), []byte(a.state()))
}

// callback finishes signing in, and starts a login or serves the page for an assistant. A
// browser that is logged in, perhaps through another tab, keeps its login.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	a, own := s.take(w, r)
	var err error
	switch {
	case own && a.place == assistantPlace:
		err = s.consent(w, r, a)
	case s.isLoggedIn(r):
	case !own:
		err = refused(errors.New("the state does not match this browser"))
	default:
		err = s.finish(w, r, a)
	}

	if errors.Is(err, errNoRole) {
		s.setCookie(w, otherCookie, "yes", attemptTime, http.SameSiteLaxMode)
	}
	switch {
	case err != nil:
		s.refuse(w, r, a, err)
	case a.place != assistantPlace:
		http.Redirect(w, r, Path+a.place, http.StatusSeeOther)
	}
}

// isLoggedIn reports whether a request has the cookie of a login that is valid now.
func (s *SignIn) isLoggedIn(r *http.Request) bool {
	cookie, err := r.Cookie(cookieName)
	if err == nil {
		_, err = s.operator(r.Context(), cookie.Value)
	}
	return err == nil
}

// finish starts the login of a callback.
func (s *SignIn) finish(w http.ResponseWriter, r *http.Request, a attempt) error {
	account, err := s.account(w, r, a)
	if err == nil {
		err = s.start(w, r, account)
	}
	if err == nil {
		s.Report(r.Context(), "ok", nil)
	}
	return err
}

// account redeems the code of a callback.
func (s *SignIn) account(w http.ResponseWriter, r *http.Request, a attempt) (account, error) {
	query := r.URL.Query()
	switch code := query.Get("error"); code {
	case "":
	case "invalid_scope":
		return account{}, errScope
	case "server_error", "temporarily_unavailable":
		return account{}, unavailable(fmt.Errorf("the provider returned the error %q", code))
	default:
		return account{}, refused(fmt.Errorf("the provider returned the error %.100q", code))
	}

	found, err := s.redeem(r.Context(), a.state(),
		func(ctx context.Context, p *Provider) (*oauth2.Token, error) {
			return p.OAuth.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(a.verifier))
		})
	if err == nil {
		s.setCookie(w, otherCookie, "", -time.Second, http.SameSiteLaxMode)
	}
	return found, err
}

func (s *SignIn) setCookie(
	w http.ResponseWriter, name, value string, life time.Duration, site http.SameSite,
) {
	setCookie(w, name, value, life, site, strings.HasPrefix(s.OIDCRedirectURL, "https://"))
}

// account is the account of an operator at the provider.
type account struct {
	Subject string
	Email   string // empty if it is unknown or not verified
	Role    schema.Role
	Secrets secrets
}

// secrets are tokens of the provider, which are stored encrypted.
type secrets struct {
	Refresh string // empty: none
	ID      string // proves at the provider whose session ends at a logout
}

// redeem exchanges a code or a refresh token for tokens, and verifies the ID token. An
// empty nonce is not compared.
func (s *SignIn) redeem(
	ctx context.Context, nonce string, ask func(context.Context, *Provider) (*oauth2.Token, error),
) (account, error) {
	provider, err := s.discover(ctx)
	if err != nil {
		return account{}, err
	}
	token, err := ask(withClient(ctx), provider)
	if err != nil {
		return account{}, tokenError(err)
	}

	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return account{}, refused(errors.New("the provider returned no ID token, which has the role"))
	}
	id, err := provider.Verifier(&oidc.Config{ClientID: s.OIDCClientID}).Verify(ctx, raw)
	switch {
	// The library has no error type for this.
	case err != nil && strings.Contains(err.Error(), "fetching keys"):
		return account{}, unavailable(err)
	case err != nil:
		return account{}, refused(err)
	case nonce != "" && id.Nonce != nonce:
		return account{}, refused(errors.New("the nonce does not match"))
	case id.Subject == "":
		return account{}, refused(errors.New("the ID token has no subject"))
	}

	var claims map[string]json.RawMessage
	if err := id.Claims(&claims); err != nil {
		return account{}, refused(err)
	}
	role := s.roleOf(claimOf(claims, s.OIDCGroupsClaim))
	if role == "" {
		return account{}, errNoRole
	}
	return account{
		Subject: id.Subject,
		Email:   emailOf(claims),
		Role:    role,
		Secrets: secrets{Refresh: token.RefreshToken, ID: raw},
	}, nil
}

// emailOf returns the e-mail address in the claims of an ID token if it is verified. Some
// providers send email_verified as a string.
func emailOf(claims map[string]json.RawMessage) string {
	var email string
	verified := strings.Trim(string(claims["email_verified"]), `"`) == "true"
	if !verified || json.Unmarshal(claims["email"], &email) != nil {
		return ""
	}
	return strings.ToLower(email)
}

// claimOf returns the claim of this whole name, or else the one at this path, whose names are
// separated by dots.
func claimOf(claims map[string]json.RawMessage, name string) json.RawMessage {
	if claim, ok := claims[name]; ok {
		return claim
	}

	first, rest, nested := strings.Cut(name, ".")
	var below map[string]json.RawMessage
	if !nested || json.Unmarshal(claims[first], &below) != nil {
		return nil
	}
	return claimOf(below, rest)
}

// roleOf returns the highest role of the groups in a claim, which is a list or a string.
func (s *SignIn) roleOf(claim json.RawMessage) schema.Role {
	var groups []string
	var group string
	if json.Unmarshal(claim, &group) == nil {
		groups = []string{group}
	} else if json.Unmarshal(claim, &groups) != nil {
		return ""
	}

	var roles []schema.Role
	for _, name := range groups {
		roles = append(roles, s.OIDCRoles[name])
	}
	return schema.HighestRole(roles...)
}
