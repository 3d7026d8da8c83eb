package inbox

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// Paths of signing in with an account.
const (
	LoginPath    = Path + "/login"
	CallbackPath = Path + "/callback"
)

const (
	loginCookie  = "siteapi_login"
	silentMark   = ".silent" // at the end of the cookie of a login that asks nothing
	loginTime    = 10 * time.Minute
	roleTime     = 15 * time.Minute // how long a role is used before it is checked again
	providerTime = 8 * time.Second  // limits each request to the provider
	checkTime    = 30 * time.Second // limits checking a role: discovery, a token and keys
	pollTime     = 100 * time.Millisecond
)

// SignIn lets operators sign in with their account at an OpenID Connect provider.
//
// A login needs no storage: state, nonce and the PKCE verifier are derived from a random
// cookie, so any instance can finish it, and only in the browser that began it. A session is a
// row in the database, found by a hash of its cookie. The provider is asked every
// [roleTime] whether the role is still right: with the refresh token, or else by signing in
// again without a question (prompt=none).
type SignIn struct {
	Issuer, ClientID, ClientSecret string
	RedirectURL                    string
	GroupsClaim                    string
	Roles                          map[string]schema.Role // keys: groups
	Sessions                       store.Logins
	Now                            func() time.Time

	// Limit counts a request among those that wait for the provider, or returns why there is
	// no room for it.
	Limit func(ctx context.Context) *schema.Error

	// Report is told how each login ended, and why a session ended when its role was checked:
	// ok, refused, unavailable or ended. The error is the cause, for the log.
	Report func(ctx context.Context, outcome string, err error)

	discovery singleflight.Group
	provider  atomic.Pointer[oidc.Provider] // nil until the provider has answered
}

// open asks the provider for its endpoints, unless it has told them. Those who ask at the same
// time share one answer, which goes on for the others when one of them gives up.
func (s *SignIn) open(ctx context.Context) (*oidc.Provider, error) {
	if provider := s.provider.Load(); provider != nil {
		return provider, nil
	}

	asked := s.discovery.DoChan("", func() (any, error) {
		// The provider keeps the context, with which it fetches its keys later.
		provider, err := Discover(context.Background(), s.Issuer)
		if err == nil {
			s.provider.Store(provider)
		}
		return provider, err
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the provider at OIDC_ISSUER: %w", ctx.Err())
	case answer := <-asked:
		provider, _ := answer.Val.(*oidc.Provider)
		return provider, answer.Err
	}
}

// Discover asks the provider of an issuer for its endpoints. It fails if the provider names
// another issuer.
func Discover(ctx context.Context, issuer string) (*oidc.Provider, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, &http.Client{Timeout: providerTime}), issuer)
	if err != nil {
		return nil, fmt.Errorf("asking the provider at OIDC_ISSUER: %w", err)
	}
	return provider, nil
}

func (s *SignIn) config(p *oidc.Provider) *oauth2.Config {
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

	return &oauth2.Config{
		ClientID:     s.ClientID,
		ClientSecret: s.ClientSecret,
		Endpoint:     endpoint,
		RedirectURL:  s.RedirectURL,
		Scopes:       scopes,
	}
}

// login sends the browser to the provider. With ?silent=1 the provider asks nothing; where it
// has to, the login begins anew, and it may.
func (s *SignIn) login(w http.ResponseWriter, r *http.Request) {
	if refused := s.Limit(r.Context()); refused != nil {
		s.refuse(w, r, refused)
		return
	}
	provider, err := s.open(r.Context())
	if err != nil {
		s.refuse(w, r, unavailable(err))
		return
	}

	silent := r.URL.Query().Has("silent")
	secret := rand.Text()
	if silent {
		secret += silentMark
	}
	s.setCookie(w, loginCookie, secret, int(loginTime/time.Second), http.SameSiteLaxMode)
	options := []oauth2.AuthCodeOption{
		oidc.Nonce(derive(secret, "nonce")),
		oauth2.S256ChallengeOption(derive(secret, "verifier")),
	}
	if silent {
		options = append(options, oauth2.SetAuthURLParam("prompt", "none"))
	}

	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, s.config(provider).AuthCodeURL(derive(secret, "state"), options...), http.StatusSeeOther)
}

// callback finishes a login that the same browser began, and starts a session.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	cookie, err := r.Cookie(loginCookie)
	query := r.URL.Query()
	if err != nil || !hmac.Equal([]byte(query.Get("state")), []byte(derive(cookie.Value, "state"))) {
		s.refuse(w, r, &schema.Error{
			Code:    schema.CodeForbidden,
			Message: "This login was not begun in this browser, or more than 10 minutes ago. Please open the inbox again.",
			Err:     &refusal{error: errors.New("the state is not that of this browser"), reason: reasonElsewhere},
		})
		return
	}
	if refused := s.Limit(r.Context()); refused != nil {
		s.refuse(w, r, refused)
		return
	}
	s.setCookie(w, loginCookie, "", -1, http.SameSiteLaxMode)

	// A provider that refuses a login that asks nothing may ask in the next one.
	switch {
	case query.Has("error") && strings.HasSuffix(cookie.Value, silentMark):
		http.Redirect(w, r, LoginPath, http.StatusSeeOther)
		return
	case query.Has("error"):
		s.refuse(w, r, providerError(query.Get("error")))
		return
	}

	session, err := s.redeem(r.Context(), derive(cookie.Value, "nonce"),
		func(ctx context.Context, c *oauth2.Config) (*oauth2.Token, error) {
			return c.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(derive(cookie.Value, "verifier")))
		})
	if err == nil {
		err = s.start(w, r, session)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	s.Report(r.Context(), "ok", nil)
	http.Redirect(w, r, Path, http.StatusSeeOther)
}

// account is what the provider says about an operator.
type account struct {
	subject string
	email   string // empty: the provider names none, or has not verified it
	role    schema.Role
	refresh string
}

// redeem asks the provider for the tokens of a code or of a refresh token, and verifies them. The
// nonce is that of the login; empty: it is not compared.
func (s *SignIn) redeem(
	ctx context.Context, nonce string, ask func(context.Context, *oauth2.Config) (*oauth2.Token, error),
) (account, error) {
	provider, err := s.open(ctx)
	if err != nil {
		return account{}, unavailable(err)
	}

	ctx = oidc.ClientContext(ctx, &http.Client{Timeout: providerTime})
	token, err := ask(ctx, s.config(provider))
	if err != nil {
		return account{}, tokenError(err)
	}
	return s.account(ctx, provider, token, nonce)
}

// account verifies an ID token.
func (s *SignIn) account(
	ctx context.Context, provider *oidc.Provider, token *oauth2.Token, nonce string,
) (account, error) {
	raw, _ := token.Extra("id_token").(string)
	verifier := provider.Verifier(&oidc.Config{ClientID: s.ClientID, Now: s.Now})
	id, err := verifier.Verify(ctx, raw)
	switch {
	case err != nil && strings.Contains(err.Error(), "fetching keys"): // the library has no error for it
		return account{}, unavailable(err)
	case err != nil:
		return account{}, refused(err)
	case nonce != "" && !hmac.Equal([]byte(id.Nonce), []byte(nonce)):
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
		return account{}, &schema.Error{
			Code: schema.CodeForbidden,
			Message: fmt.Sprintf("Your account has no role here. Please ask the people who run this service: "+
				"no group in its claim %q is named in OIDC_ROLES.", s.GroupsClaim),
			Err: &refusal{
				error:  errors.New("no group of the account has a role"),
				reason: reasonNoRole,
				claim:  s.GroupsClaim,
			},
		}
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
		if role := s.Roles[name]; role != "" && (highest == "" || role.AtLeast(highest)) {
			highest = role
		}
	}
	return highest
}

// refused is the error of a login that the provider does not confirm.
func refused(err error) error {
	return &schema.Error{
		Code:    schema.CodeForbidden,
		Message: "The provider of your account did not confirm this login. Please open the inbox again.",
		Err:     &refusal{error: loggable(err), reason: reasonUnconfirmed},
	}
}

// tokenError tells a provider that says no from one that is away, or limits the rate. What
// else the provider answered is dropped: it may name the person, or repeat what it was sent.
func tokenError(err error) error {
	answer, answered := errors.AsType[*oauth2.RetrieveError](err)
	if !answered {
		return unavailable(err)
	}

	status := answer.Response.StatusCode
	err = fmt.Errorf("the provider answered %d with the error %.100q", status, answer.ErrorCode)
	if status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		return unavailable(err)
	}
	return refused(err)
}

// loggable returns an error with the text of another one as far as it may be logged:
// providers put e-mail addresses into their errors.
func loggable(err error) error { return errors.New(upstream.Redact(err.Error())) }

func isUnavailable(err error) bool {
	coded, ok := errors.AsType[*schema.Error](err)
	return ok && coded.Code == schema.CodeUpstreamUnavailable
}

func unavailable(err error) error {
	return &schema.Error{
		Code:       schema.CodeUpstreamUnavailable,
		Message:    "Signing in is not possible at the moment.",
		RetryAfter: 10 * time.Second,
		Err:        loggable(err),
	}
}

// derive returns a text that only those who know a secret can derive, another for each purpose.
func derive(secret, purpose string) string { return sign([]byte(secret), purpose, "") }
