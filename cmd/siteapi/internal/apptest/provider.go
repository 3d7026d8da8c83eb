package apptest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"golang.org/x/oauth2"
)

// Provider is an OpenID Connect provider that signs in one person.
type Provider struct {
	*httptest.Server
	metadata oidctest.Server // serves its endpoints and keys

	mu     sync.Mutex
	key    *rsa.PrivateKey
	Groups any
	Claims map[string]any        // override the claims of ID tokens
	codes  map[string]url.Values // authorization requests by code, until it is redeemed

	Scopes   []string     // listed in the discovery document
	Refuses  []string     // scopes that authorization requests may not have
	AtToken  bool         // they are refused at the token endpoint
	Logout   string       // the address at which a person logs out; empty: none
	Requests []url.Values // authorization requests

	FailStatus int              // status of every response; 0: the provider works
	Failure    string           // error of authorization requests; empty: they succeed
	Refusal    http.HandlerFunc // replaces the token endpoint if set
	NoRefresh  bool             // the token endpoint returns no refresh tokens
	Refreshed  int              // number of redeemed refresh tokens
}

// NewProvider starts a provider whose user is in the group "marketing".
func NewProvider(t *testing.T) *Provider {
	t.Helper()
	p := &Provider{Groups: []string{"marketing"}, codes: map[string]url.Values{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	p.metadata.SetIssuer(p.URL)
	p.Rotate("first")
	return p
}

// Rotate replaces the signing key.
func (p *Provider) Rotate(id string) {
	key, _ := rsa.GenerateKey(rand.Reader, 2048)
	p.Set(func() {
		p.key = key
		p.metadata.PublicKeys = []oidctest.PublicKey{
			{PublicKey: key.Public(), KeyID: id, Algorithm: oidc.RS256},
		}
	})
}

// Set changes the fields of the provider under its lock.
func (p *Provider) Set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")

	switch {
	case p.FailStatus > 0:
		w.WriteHeader(p.FailStatus)
	case r.URL.Path == "/auth":
		p.authorize(w, r)
	case strings.HasPrefix(r.URL.Path, "/.well-known/"):
		document, all := httptest.NewRecorder(), object{}
		p.metadata.ServeHTTP(document, r)
		_ = json.Unmarshal(document.Body.Bytes(), &all)
		all["scopes_supported"] = p.Scopes
		if p.Logout != "" {
			all["end_session_endpoint"] = p.Logout
		}
		_ = json.NewEncoder(w).Encode(all)
	case r.URL.Path == "/token" && p.Refusal != nil:
		p.Refusal(w, r)
	case r.URL.Path == "/token":
		p.token(w, r)
	default:
		p.metadata.ServeHTTP(w, r)
	}
}

// authorize redirects the browser back with a code or an error.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	request := r.URL.Query()
	back := url.Values{"state": {request.Get("state")}}
	p.Requests = append(p.Requests, request)
	if p.Failure != "" {
		back.Set("error", p.Failure)
	} else if p.refuses(request) && !p.AtToken {
		back.Set("error", "invalid_scope")
	} else {
		back.Set("code", rand.Text())
		p.codes[back.Get("code")] = request
	}
	http.Redirect(w, r, request.Get("redirect_uri")+"?"+back.Encode(), 302)
}

// refuses reports whether an authorization request has a scope that is refused.
func (p *Provider) refuses(request url.Values) bool {
	return slices.ContainsFunc(strings.Fields(request.Get("scope")), func(scope string) bool {
		return slices.Contains(p.Refuses, scope)
	})
}

// token redeems a refresh token, or a code once if its verifier is right.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	code, verifier := r.FormValue("code"), r.FormValue("code_verifier")
	request := p.codes[code]
	delete(p.codes, code)
	if r.FormValue("grant_type") == "refresh_token" {
		p.Refreshed++
	} else if p.refuses(request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":"invalid_scope"}`)
		return
	} else if oauth2.S256ChallengeFromVerifier(verifier) != request.Get("code_challenge") {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}

	claims := object{
		"iss":    p.URL,
		"sub":    "person-1",
		"aud":    "siteapi",
		"nonce":  request.Get("nonce"),
		"groups": p.Groups,
		"iat":    time.Now().Unix(),
		"exp":    time.Now().Add(time.Minute).Unix(),
	}
	maps.Copy(claims, p.Claims)
	payload, _ := json.Marshal(claims)
	keyID := p.metadata.PublicKeys[0].KeyID

	response := object{
		"access_token": "a",
		"token_type":   "Bearer",
		"expires_in":   60,
		"id_token":     oidctest.SignIDToken(p.key, keyID, oidc.RS256, string(payload)),
	}
	if !p.NoRefresh {
		response["refresh_token"] = "refresh-secret"
	}
	_ = json.NewEncoder(w).Encode(response)
}

// Env returns the settings of a service with its inbox at an address.
func (p *Provider) Env(address string) []string {
	return []string{
		"ADMIN_ADDR=" + address, "ADMIN_API_TOKEN=secret-of-operators",
		"OIDC_ISSUER=" + p.URL, "OIDC_CLIENT_ID=siteapi", "OIDC_CLIENT_SECRET=client-secret",
		"OIDC_REDIRECT_URL=http://" + address + "/admin/callback",
		"OIDC_ROLES=viewer=marketing,sales=sales|desk,admin=ops",
	}
}
