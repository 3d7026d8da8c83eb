package app

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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/jackc/pgx/v5"

	"siteapi/integrations/lead"
	"siteapi/integrations/store/storetest/pgserver"
)

// provider is an OpenID Connect provider that signs in one person.
type provider struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	key    *rsa.PrivateKey
	kid    string
	groups any
	claims map[string]any        // replace those of the next token
	away   int                   // status that it answers everything with; 0: it works
	codes  map[string]url.Values // requests for a code by code, until it is redeemed

	refreshed int // how many times a refresh token was redeemed

	refusal http.HandlerFunc // answers requests for tokens in place of the provider; nil: it does

	noRefresh bool              // it gives out no refresh tokens
	answers   map[string]string // errors by the prompt of a request: "none", or "" if it may ask
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{t: t, groups: []string{"marketing"}, codes: map[string]url.Values{}}
	p.rotate("first")
	p.Server = httptest.NewUnstartedServer(p)
	p.Start()
	t.Cleanup(p.Close)
	return p
}

// rotate replaces the key that tokens are signed with.
func (p *provider) rotate(kid string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.t.Fatal(err)
	}
	p.set(func() { p.key, p.kid = key, kid })
}

func (p *provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away > 0 {
		http.Error(w, "away", p.away)
		return
	}

	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(object{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"},
			"scopes_supported": []string{"openid", "offline_access"},
		})
	case "/keys":
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
			{Key: p.key.Public(), KeyID: p.kid, Algorithm: "RS256", Use: "sig"},
		}})
	case "/authorize":
		request := r.URL.Query()
		back := url.Values{"state": {request.Get("state")}}
		if failure := p.answers[request.Get("prompt")]; failure != "" {
			back.Set("error", failure)
		} else {
			back.Set("code", rand.Text())
			p.codes[back.Get("code")] = request
		}
		http.Redirect(w, r, request.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case "/token":
		if p.refusal != nil {
			p.refusal(w, r)
			return
		}
		p.token(w, r)
	}
}

// token redeems a code once, if its verifier is right, or a refresh token.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
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
		p.refreshed++
	}

	claims := map[string]any{
		"iss": p.URL, "sub": "person-1", "aud": "siteapi", "nonce": nonce, "groups": p.groups,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
	}
	for name, value := range p.claims {
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
	if !p.noRefresh {
		answer["refresh_token"] = "refresh-secret"
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// environ returns the settings of a service whose inbox is at an address.
func (p *provider) environ(address string) []string {
	return []string{
		"ADMIN_ADDR=" + address, "ADMIN_API_TOKEN=secret-of-operators",
		"OIDC_ISSUER=" + p.URL, "OIDC_CLIENT_ID=siteapi", "OIDC_CLIENT_SECRET=client-secret",
		"OIDC_REDIRECT_URL=http://" + address + "/admin/callback",
		"OIDC_ROLES=viewer=marketing,sales=sales|desk,admin=ops",
	}
}

// signsIn signs in with a new browser, and returns where that ended.
func (b *browser) signsIn() (*http.Response, string) { return b.signsInAt("/admin/login") }

// signsInAt signs in by the path of a login.
func (b *browser) signsInAt(path string) (*http.Response, string) {
	b.t.Helper()
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	resp, err := client.Get(b.base + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)

	at, _ := url.Parse(b.base + "/admin")
	b.cookie, b.csrf = nil, ""
	for _, c := range jar.Cookies(at) {
		if c.Name == "siteapi_session" {
			b.cookie = c
			_, answer := b.send("GET", "/admin/session", "")
			b.csrf, _ = answer["csrf"].(string)
		}
	}
	return resp, string(text)
}

// roleIs checks what the inbox answers in this browser.
func (b *browser) roleIs(what string, contact, deliveries, health string) {
	b.t.Helper()
	for query, want := range map[string]string{
		`{ leads { edges { node { contact { email } } } } }`: contact,
		`{ deliveries { edges { node { id } } } }`:           deliveries,
		`{ serviceHealth { version } }`:                      health,
	} {
		_, answer := b.send("POST", "/admin/graphql", `{"query":"`+query+`"}`)
		raw, _ := json.Marshal(answer)
		if !strings.Contains(string(raw), want) {
			b.t.Errorf("%s: %s gives %s, want %s", what, query, raw, want)
		}
	}
}

// Operators sign in with their accounts, at any instance, and have the highest role of their
// groups.
func TestSignIn(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	address := freeAddress(t)
	s := newSite(t, p.environ(address)...).start()
	b := &browser{t: t, base: "http://" + address}
	id := s.submit("one")
	s.arrives(id)

	resp, text := b.signsIn()
	if b.cookie == nil || b.csrf == "" || resp.Request.URL.Path != "/admin" {
		t.Fatalf("signing in: %d %s %s", resp.StatusCode, resp.Request.URL, text)
	}
	b.roleIs("viewer", `"contact":null`, "FORBIDDEN", "FORBIDDEN")
	b.want("a session is for the inbox alone", b.reads("/graphql"), "UNAUTHENTICATED")

	thief := &browser{t: t, base: b.base, cookie: b.cookie}
	b.want("without the CSRF token", thief.reads("/admin/graphql"), "FORBIDDEN")
	if resp, _ := thief.send("GET", "/admin/session", "", "Sec-Fetch-Site: cross-site",
		"Origin: https://evil.example"); resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another site reads the session: %v", resp.Header)
	}

	for groups, role := range map[string][3]string{
		"desk": {"one@example.com", `"deliveries":{`, "FORBIDDEN"},
		"ops":  {"one@example.com", `"deliveries":{`, `"version"`},
	} {
		p.set(func() { p.groups = []string{"marketing", groups, "others"} })
		old := *b.cookie
		if b.signsIn(); b.cookie == nil || b.cookie.Value == old.Value {
			t.Fatalf("%s: no new session", groups)
		}
		b.roleIs(groups, role[0], role[1], role[2])
	}

	// A second instance and a restart know the session; ending it ends it everywhere.
	s.end(9)
	s.start()
	b.want("after a restart", b.reads("/admin/graphql"), "OK")
	out, _ := s.run("sessions", "list")
	if strings.Count(out, "person-1") != 3 || strings.Contains(out, b.cookie.Value) {
		t.Errorf("the sessions: %s", out)
	}
	entries, _ := b.audited()
	if len(entries) == 0 || !strings.HasPrefix(entries[len(entries)-1], "oidc:person-1 LISTED") {
		t.Errorf("the audit: %v", entries)
	}
	s.says(said{args: "sessions end --all", want: []string{"3"}})
	b.want("after it was ended", b.reads("/admin/graphql"), "UNAUTHENTICATED")

	for _, secret := range []string{"client-secret", "refresh-secret", b.cookie.Value, lead.Reference(id) + "x"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

// firstAnswer returns the answer of an address, whose redirect is not followed. The request
// names a host if one is given.
func firstAnswer(t *testing.T, address, host string, cookies ...*http.Cookie) *http.Response {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if host != "" {
		r.Host = host
		r.Header.Set("X-Forwarded-Host", host)
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}

	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}

// The redirects of a login go where the settings say, whatever the request names as its host.
func TestSignInForgedHost(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := newSite(t, append(p.environ("127.0.0.1:1"), "ADMIN_ADDR=off", "ADMIN_PAGE=on")...).start()
	from := func(path string, cookies ...*http.Cookie) *http.Response {
		t.Helper()
		return firstAnswer(t, s.base+path, "evil.example", cookies...)
	}

	begun := from("/admin/login")
	to, _ := url.Parse(begun.Header.Get("Location"))
	if back := to.Query().Get("redirect_uri"); "http://"+to.Host != p.URL ||
		back != "http://127.0.0.1:1/admin/callback" {
		t.Errorf("the login goes to %s, and back to %s", to, back)
	}

	// The provider sends the browser to the address in the settings; here it names another host there, too.
	back, _ := firstAnswer(t, to.String(), "").Location()
	ended := from(back.RequestURI(), begun.Cookies()...)
	if ended.StatusCode != 303 || ended.Header.Get("Location") != "/admin" {
		t.Errorf("the callback: %d %s", ended.StatusCode, ended.Header.Get("Location"))
	}
	for _, c := range ended.Cookies() {
		if c.Domain != "" || c.Path != "/admin" || !c.HttpOnly {
			t.Errorf("the cookie %v", c)
		}
	}

	local := &browser{t: t, base: s.base}
	if resp := local.logIn("secret-of-operators", "Host: localhost"); resp.StatusCode != 403 {
		t.Errorf("the token at LISTEN_ADDR: %d", resp.StatusCode)
	}
}

// Two instances share sessions: what one starts the other knows, and what one ends has ended
// at the other. A role that is due is checked once.
func TestSignInTwoInstances(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	addresses := [2]string{freeAddress(t), freeAddress(t)}
	database := "DATABASE_URL=" + pgserver.Start(t).NewDatabase(t)

	var browsers [2]*browser
	for i, address := range addresses {
		newSite(t, append(p.environ(addresses[0]), "ADMIN_ADDR="+address, database)...).start()
		browsers[i] = &browser{t: t, base: "http://" + address}
	}
	one, two := browsers[0], browsers[1]

	if _, text := one.signsIn(); one.cookie == nil {
		t.Fatal(text)
	}
	two.cookie, two.csrf = one.cookie, one.csrf
	two.roleIs("the other instance", `"leads":{`, "FORBIDDEN", "FORBIDDEN")

	p.set(func() { p.groups, p.refreshed = "ops", 0 })
	out, code := command(
		t,
		[]string{"ENVIRONMENT=development", database, "DATA_DIR=" + t.TempDir()},
		"sessions",
		"list",
	)
	if code != 0 || strings.Count(out, "person-1") != 1 {
		t.Fatalf("the sessions: %d %s", code, out)
	}
	db, err := pgx.Connect(t.Context(), strings.TrimPrefix(database, "DATABASE_URL="))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	if _, err := db.Exec(t.Context(), `UPDATE logins SET check_at = 1`); err != nil {
		t.Fatal(err)
	}

	var group sync.WaitGroup
	for i := range 10 {
		group.Go(
			func() { browsers[i%2].roleIs("after the check", `"leads":{`, `"deliveries":{`, `"version"`) },
		)
	}
	group.Wait()
	if p.set(func() {}); p.refreshed != 1 {
		t.Errorf("the role was checked %d times", p.refreshed)
	}

	if resp, _ := two.send("DELETE", "/admin/session", ""); resp.StatusCode != 204 {
		t.Errorf("ending the session: %d", resp.StatusCode)
	}
	one.want("ended at the other", one.reads("/admin/graphql"), "UNAUTHENTICATED")
}

// The doctor says whether the provider answers, and as the issuer of the settings.
func TestSignInDoctor(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := newSite(t, p.environ(freeAddress(t))...)

	c, _ := s.doctor(nil)
	c.says(t, "sign-in", "OK", p.URL+"/authorize")
	c, code := s.doctor([]string{"OIDC_ISSUER=" + p.URL + "/"})
	if c.says(t, "sign-in", "FAILED", "did not match"); code != 2 {
		t.Errorf("exit code %d", code)
	}
	c, _ = s.doctor([]string{"OIDC_ROLES=nobody"})
	c.says(t, "sign-in", "WARNING", "not checked")

	p.set(func() { p.away = http.StatusBadGateway })
	c, _ = s.doctor(nil)
	c.says(t, "sign-in", "FAILED", "502")
	c, _ = s.doctor([]string{"OIDC_ISSUER="})
	c.says(t, "sign-in", "OK", "no accounts")
}

// A login that the provider does not confirm starts no session.
func TestSignInFaults(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	address := freeAddress(t)
	s := newSite(t, p.environ(address)...).start()
	b := &browser{t: t, base: "http://" + address}

	refused := func(what string, status int, claims map[string]any) {
		t.Helper()
		p.set(func() { p.claims = claims })
		resp, text := b.signsIn()
		if resp.StatusCode != status || b.cookie != nil {
			t.Errorf("%s: %d %s, want %d", what, resp.StatusCode, text, status)
		}
		p.set(func() { p.claims = nil })
	}

	p.set(func() { p.away = http.StatusBadGateway })
	refused("the provider is away", 503, nil)
	p.set(func() { p.away = 0 })

	refused("issuer", 403, map[string]any{"iss": "https://evil.example"})
	refused("audience", 403, map[string]any{"aud": "another"})
	refused("nonce", 403, map[string]any{"nonce": "another"})
	refused("expired", 403, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})
	refused("no subject", 403, map[string]any{"sub": ""})
	refused("no group", 403, map[string]any{"groups": []string{"others"}})
	refused("no claim", 403, map[string]any{"groups": nil})
	if _, text := b.signsIn(); b.cookie == nil {
		t.Fatalf("a good token is refused: %s", text)
	}
	p.rotate("second")
	if _, text := b.signsIn(); b.cookie == nil {
		t.Errorf("the new key is refused: %s", text)
	}

	// The log says why, and so does the browser if it is the account's groups.
	for _, cause := range []string{"502", `expected audience`, "the nonce is another one", "token is expired", "no subject"} {
		eventually(t, cause+" is in the log", func() bool { return strings.Contains(s.log.String(), cause) })
	}

	// What another browser began is not finished here, and a code works once.
	get := func(address string, cookies ...*http.Cookie) *http.Response {
		t.Helper()
		return firstAnswer(t, address, "", cookies...)
	}

	begun := get(b.base + "/admin/login?return=https://evil.example")
	login := begun.Cookies()[0]
	if !login.HttpOnly || login.SameSite != http.SameSiteLaxMode ||
		strings.Contains(begun.Header.Get("Location"), "evil") {
		t.Errorf("the login: %v %s", login, begun.Header.Get("Location"))
	}
	back := get(begun.Header.Get("Location")).Header.Get("Location")
	if resp := get(back); resp.StatusCode != 403 {
		t.Errorf("in another browser: %d", resp.StatusCode)
	}
	if resp := get(back, get(b.base + "/admin/login").Cookies()[0]); resp.StatusCode != 403 {
		t.Errorf("with another login: %d", resp.StatusCode)
	}
	if resp := get(back, login); resp.StatusCode != 303 || resp.Header.Get("Location") != "/admin" {
		t.Errorf("the login that was begun: %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	if resp := get(back, login); resp.StatusCode != 403 {
		t.Errorf("the code once more: %d", resp.StatusCode)
	}

	// The token opens the page on the machine itself only.
	if resp := (&browser{t: t, base: b.base}).logIn("secret-of-operators"); resp.StatusCode != 200 {
		t.Errorf("the token on loopback: %d", resp.StatusCode)
	}
	if resp := (&browser{t: t, base: b.base}).logIn("secret-of-operators",
		"X-Forwarded-For: 192.0.2.1"); resp.StatusCode != 403 {
		t.Errorf("the token through a proxy: %d", resp.StatusCode)
	}
}

// After 15 minutes the provider is asked again: a group that was taken away ends what it
// opened.
func TestSignInRenews(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	address := freeAddress(t)
	s := newSite(t, p.environ(address)...).start()
	b := &browser{t: t, base: "http://" + address}

	p.set(func() { p.groups = "ops" })
	if _, text := b.signsIn(); b.cookie == nil {
		t.Fatal(text)
	}
	later := func() { s.damage(`UPDATE logins SET check_at = 1`) }

	p.set(func() { p.away = http.StatusBadGateway })
	later()
	b.want("the provider is away", b.reads("/admin/graphql"), "UPSTREAM_UNAVAILABLE")
	b.want("it is still away", b.reads("/admin/graphql"), "UPSTREAM_UNAVAILABLE")
	p.set(func() { p.away = http.StatusTooManyRequests })
	later()
	b.want("it limits the rate", b.reads("/admin/graphql"), "UPSTREAM_UNAVAILABLE")
	p.set(func() { p.away, p.groups = 0, []string{"marketing"} })
	later()
	b.roleIs("a lower role", `"leads":{`, "FORBIDDEN", "FORBIDDEN")

	p.set(func() { p.groups = []string{} })
	later()
	b.want("no role any more", b.reads("/admin/graphql"), "UNAUTHENTICATED")
	p.set(func() { p.groups = "ops" })
	b.want("the session has ended", b.reads("/admin/graphql"), "UNAUTHENTICATED")
}

// Admins see who is signed in, and end the sessions of others.
func TestOperatorSessions(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	address := freeAddress(t)
	s := newSite(t, p.environ(address)...).start()

	signIn := func(group string) *browser {
		t.Helper()
		b := &browser{t: t, base: "http://" + address}
		p.set(func() { p.groups, p.claims = group, map[string]any{"sub": "of-" + group} })
		if _, text := b.signsIn(); b.cookie == nil {
			t.Fatal(text)
		}
		return b
	}
	sales, admin := signIn("sales"), signIn("ops")

	type session struct{ ID, Actor, Role, StartedAt, CheckAt, ExpiresAt string }
	var answer struct {
		Data struct {
			OperatorSessions   []session
			EndOperatorSession *session
		}
	}
	ask := func(b *browser, operation string) string {
		t.Helper()
		_, raw := b.send("POST", "/admin/graphql", `{"query":"`+operation+`"}`)
		text, _ := json.Marshal(raw)
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	text := ask(admin, `{ operatorSessions { id actor role startedAt checkAt expiresAt } }`)
	list := answer.Data.OperatorSessions
	if len(list) != 2 || list[0].Actor != "oidc:of-ops" || list[0].Role != "ADMIN" ||
		list[1].Actor != "oidc:of-sales" || list[1].CheckAt <= list[1].StartedAt ||
		list[1].ExpiresAt <= list[1].CheckAt {
		t.Fatalf("the sessions: %s", text)
	}
	if out, _ := s.run("sessions", "list"); !strings.Contains(out, list[1].ID) {
		t.Errorf("the command names %s otherwise: %s", list[1].ID, out)
	}

	thief := &http.Cookie{Name: sales.cookie.Name, Value: list[1].ID}
	opened := (&browser{t: t, base: sales.base, cookie: thief}).reads("/admin/graphql")
	sales.want("the id as a cookie", opened, "UNAUTHENTICATED")

	end := `mutation { endOperatorSession(id: \"` + list[1].ID + `\") { actor } }`
	if text := ask(sales, end); !strings.Contains(text, "FORBIDDEN") {
		t.Errorf("sales ends a session: %s", text)
	}
	sales.want("before it is ended", sales.reads("/admin/graphql"), "OK")
	if text := ask(admin, end); answer.Data.EndOperatorSession == nil {
		t.Errorf("ending it: %s", text)
	}
	sales.want("after it was ended", sales.reads("/admin/graphql"), "UNAUTHENTICATED")
	if text := ask(admin, end); !strings.Contains(text, "NOT_FOUND") {
		t.Errorf("ending it again: %s", text)
	}

	s.says(said{args: "sessions end " + list[0].ID, want: []string{"1"}})
	entries, details := admin.audited()
	want := []string{"oidc:of-ops SESSION_ENDED -", "command:"}
	if len(entries) != 2 || entries[0] != want[0] || !strings.HasPrefix(entries[1], want[1]) ||
		details[0].Detail != `{"of":"oidc:of-sales","session":"`+list[1].ID+`"}` {
		t.Errorf("the audit: %v", entries)
	}
}

// Without refresh tokens the page goes to the provider and back, which asks nothing. Where it
// has to ask, it is allowed to.
func TestSignInSilently(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.noRefresh = true
	address := freeAddress(t)
	s := newSite(t, p.environ(address)...).start()
	b := &browser{t: t, base: "http://" + address}

	if _, text := b.signsIn(); b.cookie == nil {
		t.Fatal(text)
	}
	first := *b.cookie
	b.want("before the check", b.reads("/admin/graphql"), "OK")
	s.damage(`UPDATE logins SET check_at = 1`)
	b.want("when the role is due", b.reads("/admin/graphql"), "UNAUTHENTICATED")
	b.want("after that", b.reads("/admin/graphql"), "UNAUTHENTICATED")

	for prompt, failure := range map[string]string{"": "", "none": "login_required"} {
		p.set(func() { p.answers = map[string]string{prompt: failure} })
		resp, text := b.signsInAt("/admin/login?silent=1")
		if b.cookie == nil || b.cookie.Value == first.Value || resp.Request.URL.Path != "/admin" {
			t.Fatalf("%s: %d %s %s", failure, resp.StatusCode, resp.Request.URL, text)
		}
		b.want("once more", b.reads("/admin/graphql"), "OK")
	}

	// A provider that asks for a person even where it may ask one is not asked for ever.
	p.set(func() { p.answers = map[string]string{"": "login_required", "none": "login_required"} })
	if resp, _ := b.signsInAt("/admin/login?silent=1"); resp.StatusCode != 403 || b.cookie != nil {
		t.Errorf("a provider that always asks: %d", resp.StatusCode)
	}
	p.set(func() { p.answers = nil; p.groups = "others" })
	if resp, text := b.signsInAt("/admin/login?silent=1"); b.cookie != nil ||
		!strings.Contains(text, "&#34;groups&#34;") {
		t.Errorf("the group was taken away: %d %s", resp.StatusCode, text)
	}
}

// A login that fails ends at a page that says why in words, and offers to try again.
func TestSignInRefusalIsAPage(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	address := freeAddress(t)
	newSite(t, p.environ(address)...).start()
	b := &browser{t: t, base: "http://" + address}

	wantPage := func(what string, status int, words string) {
		t.Helper()
		resp, text := b.signsIn()
		if resp.StatusCode != status || b.cookie != nil || !strings.Contains(text, words) ||
			!strings.Contains(text, `<a href="/admin/login">Try again</a>`) || strings.Contains(text, "{{") ||
			resp.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			resp.Header.Get("Cache-Control") != "no-store" ||
			!strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'nonce-") {
			t.Errorf("%s: %d %v %s", what, resp.StatusCode, resp.Header, text)
		}
	}

	for failure, status := range map[string]int{
		"access_denied": 403, "<script>alert(1)</script>": 403, "temporarily_unavailable": 503,
	} {
		words := map[string]string{"access_denied": "was cancelled", "temporarily_unavailable": "not possible"}
		p.set(func() { p.answers = map[string]string{"": failure} })
		wantPage(failure, status, words[failure])
	}

	p.set(func() { p.answers, p.groups = nil, []string{"others"} })
	wantPage("no group", 403, `its claim &#34;groups&#34;`)

	for accepted, words := range map[string][]string{
		"":                          {`lang="en"`, "not begun in this browser", "Try again", "Back to the inbox"},
		"de":                        {`lang="en"`, "not begun in this browser"},
		"es-MX, en;q=0.5":           {`lang="es"`, "no empezó en este navegador", "Intentar de nuevo", "Bandeja"},
		"de, ro-RO;q=0.9, en;q=0.8": {`lang="ro"`, "nu a început în acest browser", "Încearcă din nou"},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", b.base+"/admin/callback?code=x&state=y", nil)
		r.Header.Set("Accept-Language", accepted)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		for _, want := range words {
			if resp.StatusCode != 403 || !strings.Contains(string(text), want) {
				t.Errorf("a callback that was not asked for, in %q: %d, it lacks %s: %s", accepted, resp.StatusCode, want, text)
			}
		}
	}
}

// A client begins and finishes ten logins in a quarter of an hour, and each invented code costs
// the provider one request.
func TestSignInIsLimited(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	var redeemed atomic.Int64
	p.set(func() {
		p.refusal = func(w http.ResponseWriter, _ *http.Request) {
			redeemed.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		}
	})
	address := freeAddress(t)
	newSite(t, append(p.environ(address), "RATE_LIMITS=on")...).start()

	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(path string, cookie *http.Cookie) *http.Response {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if cookie != nil {
			req.AddCookie(cookie)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}

	for i := range 12 {
		began := get("/admin/login", nil)
		if limited := began.StatusCode == http.StatusTooManyRequests; limited != (i >= 10) {
			t.Fatalf("login %d: %d", i+1, began.StatusCode)
		}
		if i >= 10 {
			continue
		}
		at, err := began.Location()
		if err != nil {
			t.Fatal(err)
		}
		ended := get("/admin/callback?code=invented&state="+at.Query().Get("state"), began.Cookies()[0])
		if ended.StatusCode != http.StatusForbidden {
			t.Errorf("an invented code: %d", ended.StatusCode)
		}
	}
	if got := get("/admin/callback?code=x&state=y", nil); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the eleventh callback: %d", got.StatusCode)
	}
	if n := redeemed.Load(); n != 10 {
		t.Errorf("10 invented codes made %d requests for a token", n)
	}
}
