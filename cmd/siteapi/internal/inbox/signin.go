package inbox

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store"
	"siteapi/schema"
)

const (
	signInCookie = "siteapi_signin"
	signInTime   = 10 * time.Minute
	roleTime     = 15 * time.Minute // time between checks of a role
	providerTime = 8 * time.Second  // timeout of a request to the provider
	checkTime    = 30 * time.Second // timeout of a check of a role: discovery, a token and keys
	pollTime     = 100 * time.Millisecond

	otherAccount = "select_account" // prompt for another account
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
	Now    func() time.Time

	// Limit counts a request that waits for the provider, or returns an error if there
	// are too many.
	Limit func(ctx context.Context) *schema.Error
	// Done ends this count before the request ends, since a stream stays open.
	Done func(ctx context.Context)

	// Report receives the outcome of each attempt to sign in, and of each failed check of
	// a role: ok, refused, no_role, unavailable or ended. The error is the cause.
	Report func(ctx context.Context, outcome string, err error)

	leftOut atomic.Int32 // scopes that are not requested, as in request
}

// Discover fetches the endpoints of an issuer's provider. It fails if the provider
// reports another issuer.
func Discover(ctx context.Context, issuer string) (*oidc.Provider, error) {
	provider, err := oidc.NewProvider(withClient(ctx), issuer)
	if err != nil {
		return nil, fmt.Errorf("discovering the endpoints of OIDC_ISSUER: %w", err)
	}
	return provider, nil
}

// withClient sets the timeout of requests to the provider.
func withClient(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, &http.Client{Timeout: providerTime})
}

// discover fetches the endpoints, unless too many requests wait for the provider.
func (s *SignIn) discover(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	if limited := s.Limit(ctx); limited != nil {
		return nil, nil, limited
	}
	p, err := Discover(ctx, s.OIDCIssuer)
	if err != nil {
		return nil, nil, unavailable(err)
	}

	var supported struct {
		Scopes  []string `json:"scopes_supported"`
		Clients []string `json:"token_endpoint_auth_methods_supported"`
	}
	_ = p.Claims(&supported) // The standard has defaults for missing lists.

	scopes := s.OIDCScopes
	for _, scope := range []string{oidc.ScopeOfflineAccess, "groups", "profile", "email"} {
		if s.OIDCScopes == nil && slices.Contains(supported.Scopes, scope) {
			scopes = append(scopes, scope)
		}
	}

	// The library would try both styles, and thus redeem each code twice.
	endpoint := p.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if slices.Contains(supported.Clients, "client_secret_post") &&
		!slices.Contains(supported.Clients, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}

	return p, &oauth2.Config{
		ClientID:     s.OIDCClientID,
		ClientSecret: s.OIDCClientSecret,
		Endpoint:     endpoint,
		RedirectURL:  s.OIDCRedirectURL,
		Scopes:       scopes,
	}, nil
}

// begin redirects the browser to the provider.
func (s *SignIn) begin(w http.ResponseWriter, r *http.Request) {
	s.request(w, r, int(s.leftOut.Load()))
}

// request redirects the browser to the provider. A provider may list scopes and refuse
// them for this service, without naming them: leftOut numbers the combinations of the first
// three that are not requested, one bit for each scope.
func (s *SignIn) request(w http.ResponseWriter, r *http.Request, leftOut int) {
	_, config, err := s.discover(r.Context())
	if err == nil && leftOut >= 1<<min(len(config.Scopes), 3) {
		err = errScope
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	scopes := []string{oidc.ScopeOpenID}
	for i, scope := range config.Scopes {
		if leftOut&(1<<i) == 0 && scope != oidc.ScopeOpenID {
			scopes = append(scopes, scope)
		}
	}
	config.Scopes = scopes

	// The verifier begins with leftOut, and ends with the prompt if there is one.
	verifier := strconv.Itoa(leftOut) + oauth2.GenerateVerifier()
	var options []oauth2.AuthCodeOption
	if c, err := r.Cookie(signInCookie); err == nil && strings.HasSuffix(c.Value, otherAccount) {
		verifier += otherAccount
		options = append(options, oauth2.SetAuthURLParam("prompt", otherAccount))
	}
	state := hashOf(verifier)
	options = append(options, oidc.Nonce(state), oauth2.S256ChallengeOption(verifier))

	s.setCookie(w, signInCookie, verifier, signInTime, http.SameSiteLaxMode)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, config.AuthCodeURL(state, options...), http.StatusSeeOther)
}

// callback finishes signing in, and starts a login.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	cookie, err := r.Cookie(signInCookie)
	if err != nil || !hmac.Equal([]byte(r.URL.Query().Get("state")), []byte(hashOf(cookie.Value))) {
		s.refuse(w, r, refused(errors.New("the state does not match this browser")))
		return
	}
	s.setCookie(w, signInCookie, "", -time.Second, http.SameSiteLaxMode)
	leftOut, _ := strconv.Atoi(cookie.Value[:min(1, len(cookie.Value))])

	err = s.finish(w, r, cookie.Value)
	switch {
	case errors.Is(err, errScope):
		s.request(w, r, leftOut+1)
	case errors.Is(err, errNoRole):
		s.leftOut.Store(0) // perhaps a scope has to be requested after all
		s.setCookie(w, signInCookie, otherAccount, signInTime, http.SameSiteLaxMode)
		s.refuse(w, r, err)
	case err != nil:
		s.refuse(w, r, err)
	default:
		s.leftOut.Store(int32(leftOut))
		s.Report(r.Context(), "ok", nil)
		http.Redirect(w, r, Path, http.StatusSeeOther)
	}
}

// finish redeems the code of a callback, and starts the login.
func (s *SignIn) finish(w http.ResponseWriter, r *http.Request, verifier string) error {
	query := r.URL.Query()
	switch code := query.Get("error"); code {
	case "":
	case "invalid_scope":
		return errScope
	case "server_error", "temporarily_unavailable":
		return unavailable(fmt.Errorf("the provider returned the error %q", code))
	default:
		return refused(fmt.Errorf("the provider returned the error %.100q", code))
	}

	a, err := s.redeem(r.Context(), query.Get("state"),
		func(ctx context.Context, c *oauth2.Config) (*oauth2.Token, error) {
			return c.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(verifier))
		})
	if err != nil {
		return err
	}
	return s.start(w, r, a)
}

func (s *SignIn) setCookie(w http.ResponseWriter, name, value string, life time.Duration, site http.SameSite) {
	setCookie(w, name, value, life, site, strings.HasPrefix(s.OIDCRedirectURL, "https://"))
}

// account is the account of an operator at the provider.
type account struct {
	subject string
	email   string // empty if it is unknown or not verified
	role    schema.Role
	refresh string
}

// redeem exchanges a code or a refresh token for tokens, and verifies the ID token. An
// empty nonce is not compared.
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
	id, err := provider.Verifier(&oidc.Config{ClientID: s.OIDCClientID, Now: s.Now}).Verify(ctx, raw)
	switch {
	case err != nil && strings.Contains(err.Error(), "fetching keys"): // the library has no error type for this
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
	role := s.roleOf(claims[s.OIDCGroupsClaim])
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

// roleOf returns the highest role of the groups in a claim, which is a list or a string.
func (s *SignIn) roleOf(claim json.RawMessage) (highest schema.Role) {
	var groups []string
	var group string
	if json.Unmarshal(claim, &group) == nil {
		groups = []string{group}
	} else if json.Unmarshal(claim, &groups) != nil {
		return ""
	}

	for _, name := range groups {
		if role := s.OIDCRoles[name]; role.AtLeast(highest) {
			highest = role
		}
	}
	return highest
}
