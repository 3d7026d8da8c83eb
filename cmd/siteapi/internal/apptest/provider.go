package apptest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Provider is an OpenID Connect provider that signs in one person.
type Provider struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	key    *rsa.PrivateKey
	kid    string
	Groups any
	Claims map[string]any        // replace those of the next token
	Away   int                   // status that it answers everything with; 0: it works
	codes  map[string]url.Values // requests for a code by code, until it is redeemed

	Refreshed int // how many times a refresh token was redeemed

	Refusal http.HandlerFunc // answers requests for tokens in place of the provider; nil: it does

	NoRefresh bool              // it gives out no refresh tokens
	Answers   map[string]string // errors by the prompt of a request: "none", or "" if it may ask
}

// NewProvider starts a provider of accounts.
func NewProvider(t *testing.T) *Provider {
	t.Helper()
	p := &Provider{t: t, Groups: []string{"marketing"}, codes: map[string]url.Values{}}
	p.Rotate("first")
	p.Server = httptest.NewUnstartedServer(p)
	p.Start()
	t.Cleanup(p.Close)
	return p
}

// Rotate replaces the key that tokens are signed with.
func (p *Provider) Rotate(kid string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Set(func() { p.key, p.kid = key, kid })
}

// Set changes what the provider answers.
func (p *Provider) Set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Away > 0 {
		http.Error(w, "away", p.Away)
		return
	}

	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(object{
			"issuer":                                p.URL,
			"authorization_endpoint":                p.URL + "/authorize",
			"token_endpoint":                        p.URL + "/token",
			"jwks_uri":                              p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
			"scopes_supported":                      []string{"openid", "offline_access"},
		})
	case "/keys":
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
			{Key: p.key.Public(), KeyID: p.kid, Algorithm: "RS256", Use: "sig"},
		}})
	case "/authorize":
		request := r.URL.Query()
		back := url.Values{"state": {request.Get("state")}}
		if failure := p.Answers[request.Get("prompt")]; failure != "" {
			back.Set("error", failure)
		} else {
			back.Set("code", rand.Text())
			p.codes[back.Get("code")] = request
		}
		http.Redirect(w, r, request.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case "/token":
		if p.Refusal != nil {
			p.Refusal(w, r)
			return
		}
		p.token(w, r)
	}
}

// token redeems a code once, if its verifier is right, or a refresh token.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	nonce := ""
	if r.FormValue("grant_type") == "authorization_code" {
		request := p.codes[r.FormValue("code")]
		delete(p.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if request == nil || base64.RawURLEncoding.EncodeToString(sum[:]) != request.Get("code_challenge") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
			return
		}
		nonce = request.Get("nonce")
	} else {
		p.Refreshed++
	}

	claims := map[string]any{
		"iss":    p.URL,
		"sub":    "person-1",
		"aud":    "siteapi",
		"nonce":  nonce,
		"groups": p.Groups,
		"iat":    time.Now().Unix(),
		"exp":    time.Now().Add(time.Minute).Unix(),
	}
	for name, value := range p.Claims {
		claims[name] = value
	}

	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key},
		(&jose.SignerOptions{}).WithHeader("kid", p.kid))
	if err != nil {
		p.t.Error(err)
		return
	}
	id, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		p.t.Error(err)
	}
	answer := object{"access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": id}
	if !p.NoRefresh {
		answer["refresh_token"] = "refresh-secret"
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// Environ returns the settings of a service whose inbox is at an address.
func (p *Provider) Environ(address string) []string {
	return []string{
		"ADMIN_ADDR=" + address, "ADMIN_API_TOKEN=secret-of-operators",
		"OIDC_ISSUER=" + p.URL, "OIDC_CLIENT_ID=siteapi", "OIDC_CLIENT_SECRET=client-secret",
		"OIDC_REDIRECT_URL=http://" + address + "/admin/callback",
		"OIDC_ROLES=viewer=marketing,sales=sales|desk,admin=ops",
	}
}

// SignsIn signs in with a new browser, and returns where that ended.
func (b *Browser) SignsIn() (*http.Response, string) { return b.SignsInAt("/admin/login") }

// SignsInAt signs in by the path of a login.
func (b *Browser) SignsInAt(path string) (*http.Response, string) {
	b.T.Helper()
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	resp, err := client.Get(b.Base + path)
	if err != nil {
		b.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)

	at, _ := url.Parse(b.Base + "/admin")
	b.Cookie = nil
	for _, c := range jar.Cookies(at) {
		if c.Name == "siteapi_login" {
			b.Cookie = c
		}
	}
	return resp, string(text)
}
