package inbox

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/store/sqlite"
	"siteapi/schema"
)

// signInOfAssistants is a service at which operators sign their assistants in, and the host of
// the assistants' metadata documents.
type signInOfAssistants struct {
	*apptest.Site
	provider *apptest.Provider
	inbox    *apptest.Browser
	site     string // the public address
	host     string // of the documents
	fetched  *atomic.Int32
}

const callback = "https://claude.example/api/mcp/auth_callback"

// startWithAssistants starts a service and a host of metadata documents. Each document is at
// a path, and says its own address unless it says another.
func startWithAssistants(t *testing.T, env ...string) *signInOfAssistants {
	t.Helper()
	a := &signInOfAssistants{fetched: &atomic.Int32{}, provider: apptest.NewProvider(t)}
	documents := map[string]string{
		"/claude.json":  `"client_name":"Claude","redirect_uris":["` + callback + `","http://localhost/cb","http://[::1]/cb","cursor://cb"]`,
		"/none.json":    `"client_name":"","redirect_uris":["` + callback + `"]`,
		"/other.json":   `"client_id":"https://other.example/c","redirect_uris":["` + callback + `"]`,
		"/secret.json":  `"token_endpoint_auth_method":"client_secret_basic","redirect_uris":["` + callback + `"]`,
		"/scripts.json": `"redirect_uris":["javascript:alert(1)","data:text/html,x","file:///etc/passwd","http://claude.example/cb","` + callback + `#a"]`,
		"/huge.json":    `"redirect_uris":["` + callback + `"],"x":"` + strings.Repeat("a", 5<<10) + `"`,
	}
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.fetched.Add(1)
		w.Header().Set("Cache-Control", "public, max-age=60")
		switch text, ok := documents[r.URL.Path]; {
		case r.URL.Path == "/moved.json":
			http.Redirect(w, r, "/claude.json", http.StatusFound)
		case !ok:
			http.NotFound(w, r)
		case strings.Contains(text, "client_id"):
			_, _ = io.WriteString(w, "{"+text+"}")
		default:
			_, _ = io.WriteString(w, `{"client_id":"https://`+r.Host+r.URL.Path+`",`+text+"}")
		}
	}))
	t.Cleanup(host.Close)
	a.host = host.Listener.Addr().String()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw})
	must(t, os.WriteFile(roots, block, 0o600))

	public, operators := apptest.FreeAddress(t), apptest.FreeAddress(t)
	a.site = "http://" + public
	a.Site = apptest.NewSite(t, append(append(a.provider.Env(operators), "LISTEN_ADDR="+public, "SITE_URL="+a.site, "MCP_SIGN_IN=on",
		"MCP_CLIENTS="+a.host, "SSL_CERT_FILE="+roots), env...)...).Start()
	a.inbox = apptest.NewBrowser(t, operators)
	return a
}

// ask returns the parameters of a request for access, with changes as name=value.
func (a *signInOfAssistants) ask(changes ...string) url.Values {
	in := url.Values{
		"response_type": {"code"}, "client_id": {"https://" + a.host + "/claude.json"}, "redirect_uri": {callback}, "state": {"s&1"},
		"resource": {a.site + "/mcp/operators"}, "code_challenge": {oauth2.S256ChallengeFromVerifier("verifier")}, "code_challenge_method": {"S256"},
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		in.Set(name, value)
	}
	return in
}

// page signs the operator in, and returns the page that asks for a decision, and its browser.
func (a *signInOfAssistants) page(query string) (*http.Response, string, *http.Client) {
	a.T.Helper()
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{
		Transport: apptest.Unpooled,
		Jar:       jar,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if !strings.HasPrefix(r.URL.Host, "127.0.0.1") {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	resp, err := browser.Get(a.inbox.Base + "/admin/assistant?" + query)
	must(a.T, err)
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	return resp, string(text), browser
}

// decide posts the form of a page, and returns the parameters with which the assistant gets
// the browser back.
func (a *signInOfAssistants) decide(page string, browser *http.Client, answer string) url.Values {
	a.T.Helper()
	found := regexp.MustCompile(`name="request" value="(\w+)"`).FindStringSubmatch(page)
	if found == nil {
		a.T.Fatalf("no form is on the page: %s", page)
	}
	resp, err := browser.PostForm(a.inbox.Base+"/admin/assistant", url.Values{"request": {found[1]}, "answer": {answer}})
	must(a.T, err)
	_ = resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		return url.Values{"error": {resp.Status}}
	}
	back := to.Query()
	to.RawQuery = ""
	back.Set("to", to.String())
	return back
}

// tokens sends a request to the token endpoint.
func (a *signInOfAssistants) tokens(in url.Values) (status int, response map[string]any) {
	a.T.Helper()
	got := (&apptest.Client{T: a.T, Base: a.site}).Do("POST", "/mcp/operators/token", in.Encode(),
		"Content-Type: application/x-www-form-urlencoded", "Origin: https://claude.example")
	if got.Header.Get("Access-Control-Allow-Origin") != "*" || got.Header.Get("Cache-Control") != "no-store" {
		a.T.Errorf("the header of the token endpoint: %v", got.Header)
	}
	_ = json.Unmarshal(got.Body, &response)
	return got.Status, response
}

// redeem returns the form with which a code is redeemed.
func (a *signInOfAssistants) redeem(code string, changes ...string) url.Values {
	in := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {"verifier"}}
	for _, name := range []string{"client_id", "redirect_uri", "resource"} {
		in.Set(name, a.ask().Get(name))
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		in.Set(name, value)
	}
	return in
}

// refresh returns the form with which a refresh token is redeemed.
func (a *signInOfAssistants) refresh(token any, changes ...string) url.Values {
	return a.redeem("", append([]string{"grant_type=refresh_token", "refresh_token=" + fmt.Sprint(token)}, changes...)...)
}

// code signs in, allows, and returns the code.
func (a *signInOfAssistants) code() string {
	a.T.Helper()
	_, page, browser := a.page(a.ask().Encode())
	return a.decide(page, browser, "allow").Get("code")
}

// grant signs an assistant in, and returns its tokens.
func (a *signInOfAssistants) grant() map[string]any {
	a.T.Helper()
	status, response := a.tokens(a.redeem(a.code()))
	if status != 200 {
		a.T.Fatalf("redeeming the code: %d %v", status, response)
	}
	return response
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// call sends a request with a token to an address.
func (a *signInOfAssistants) call(token any, method, address, body string) apptest.Response {
	a.T.Helper()
	return (&apptest.Client{T: a.T, Base: address}).Do(method, "", body, "Accept: application/json, text/event-stream",
		fmt.Sprint("Authorization: Bearer ", token))
}

// wantAccess checks whether a token is accepted.
func (a *signInOfAssistants) wantAccess(token any, status int, why string) {
	a.T.Helper()
	if got := a.call(token, "POST", a.site+"/mcp/operators", listTools); got.Status != status {
		a.T.Errorf("%s: %s, want %d", why, got, status)
	}
}

// later moves a grant back in time.
func (a *signInOfAssistants) later(by time.Duration) {
	a.T.Helper()
	a.Damage(fmt.Sprintf(`UPDATE logins SET grant_state = json_set(grant_state, '$.RenewedAt', '%s')`,
		time.Now().Add(-by).UTC().Format(time.RFC3339Nano)))
}

// The client of the Go SDK finds the way by itself: it signs in, calls a tool as the operator,
// and the audit and the logins name it.
func TestAssistantOfTheSDK(t *testing.T) {
	t.Parallel()
	a := startWithAssistants(t)
	a.provider.Set(func() {
		a.provider.Groups, a.provider.Claims = "desk", object{"email": "ana@lumen.test", "email_verified": true}
	})
	reference := (&apptest.Client{T: t, Base: a.site}).Submit("one")[:8]
	pages := 0 // that asked the operator

	oauth, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: a.ask().Get("client_id")},
		RedirectURL:                    "http://localhost:33418/cb",
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			to, err := url.Parse(args.URL)
			must(t, err)
			pages++
			resp, page, browser := a.page(to.RawQuery)
			policy := resp.Header.Get("Content-Security-Policy")
			if to.Host != a.inbox.Base[len("http://"):] || resp.StatusCode != 200 || !strings.Contains(page, "Claude asks for access") ||
				!strings.Contains(page, a.host) || !strings.Contains(page, "a program on your computer") ||
				!strings.Contains(page, "ana@lumen.test") || !strings.Contains(page, "<dd>Sales</dd>") ||
				!strings.Contains(policy, "form-action 'self' http://localhost:33418;") || !strings.Contains(policy, "frame-ancestors 'none'") ||
				strings.Contains(page, "<script") || resp.Header.Get("Cross-Origin-Opener-Policy") != "" {
				t.Errorf("the page of %s: %d %v %s", to, resp.StatusCode, resp.Header, page)
			}
			back := a.decide(page, browser, "allow")
			return &auth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state"), Iss: back.Get("iss")}, nil
		},
	})
	must(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: a.site + "/mcp/operators", OAuthHandler: oauth, DisableStandaloneSSE: true}, nil)
	must(t, err)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "add_lead_note", Arguments: object{"id": reference, "text": "Called."},
	})
	if err != nil || result.IsError {
		t.Fatalf("%v %+v", err, result)
	}

	label := "Claude (" + a.host + ")"
	_, entries := a.inbox.AuditEntries()
	if last := entries[len(entries)-1]; last.Actor != "oidc:person-1" || !strings.Contains(fmt.Sprint(last.Detail), "client:"+label) {
		t.Errorf("the audit: %+v", entries)
	}
	var logins []schema.Login
	if a.JSON(&logins, "logins", "list"); len(logins) != 1 || schema.ValueOr(logins[0].Client, "") != label {
		t.Fatalf("the logins: %+v", logins)
	}
	report, _ := a.Doctor(nil)
	report.Reports(t, "assistants", "OK", a.site+"/mcp/operators")

	// The same person reads another lead in the inbox and through the assistant, twice.
	second := (&apptest.Client{T: t, Base: a.site}).Submit("two")[:8]
	person := apptest.NewBrowser(t, a.inbox.Base[len("http://"):])
	signIn(person, a.provider, "desk")
	for range 2 {
		person.Asks(`{ lead(lead: "` + second + `") { contact { email } } }`)
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "lead", Arguments: object{"id": second}})
		must(t, err)
	}
	var opened []string
	_, entries = a.inbox.AuditEntries()
	for _, e := range entries {
		if e.Action == schema.AuditActionOpened && strings.HasPrefix(schema.ValueOr(e.Lead, ""), second) {
			opened = append(opened, fmt.Sprint(e.Detail))
		}
	}
	if len(opened) != 2 || opened[0] != "map[]" || !strings.Contains(opened[1], label) {
		t.Errorf("the lead was opened: %q", opened)
	}

	a.Prints("logins end " + logins[0].ID)
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "leads"}); err != nil || pages != 2 {
		t.Errorf("after its grant was ended, the client asked %d times: %v", pages, err)
	}
}

// A request for access that no assistant may send ends at a page, without a redirect, and
// before the provider is asked.
func TestRequestsOfAssistants(t *testing.T) {
	t.Parallel()
	a := startWithAssistants(t)
	document := func(name string) string { return "client_id=https://" + a.host + name }
	for _, c := range []struct {
		change, want string // want is the reason on the page; empty: accepted
	}{
		{"scope=offline_access leads", ""},
		{"redirect_uri=http://localhost:1/cb", ""},
		{"redirect_uri=http://[::1]:33418/cb", ""},
		{"redirect_uri=cursor://cb", ""},
		{document("/none.json"), ""},
		{"redirect_uri=", "does not list this redirect_uri"},
		{"redirect_uri=" + callback + "/x", "does not list this redirect_uri"},
		{"redirect_uri=" + callback + "?x=1", "does not list this redirect_uri"},
		{"redirect_uri=https://evil.example/cb", "does not list this redirect_uri"},
		{"redirect_uri=http://127.0.0.1:1/cb", "does not list this redirect_uri"},
		{"redirect_uri=http://localhost:1/other", "does not list this redirect_uri"},
		{"redirect_uri=http://localhost:1@evil.example/cb", "does not list this redirect_uri"},
		{"redirect_uri=http://claude.example/cb&" + document("/scripts.json"), "does not list this redirect_uri"},
		{"redirect_uri=javascript:alert(1)&" + document("/scripts.json"), "does not list this redirect_uri"},
		{"redirect_uri=data:text/html,x&" + document("/scripts.json"), "does not list this redirect_uri"},
		{"redirect_uri=file:///etc/passwd&" + document("/scripts.json"), "does not list this redirect_uri"},
		{"redirect_uri=" + callback + "#a&" + document("/scripts.json"), "does not list this redirect_uri"},
		{"response_type=token", "response_type is not code"},
		{"code_challenge_method=plain", "no code_challenge by the method S256"},
		{"code_challenge=verifier", "no code_challenge by the method S256"},
		{"resource=", "resource is not"},
		{"resource=https://other.example/mcp", "resource is not"},
		{"resource=" + a.site + "/mcp", "resource is not"},
		{document("/other.json"), "metadata document is not one"},
		{document("/secret.json"), "metadata document is not one"},
		{document("/moved.json"), "metadata document is not one"},
		{document("/missing.json"), "metadata document is not one"},
		{document("/huge.json"), "larger than 5120 bytes"},
		{"client_id=claude", "not the https address"},
		{"client_id=http://" + a.host + "/claude.json", "not the https address"},
		{"client_id=https://" + a.host, "not the https address"},
		{"client_id=https://me@" + a.host + "/claude.json", "not the https address"},
		{"client_id=https://127.0.0.1:1/claude.json", "MCP_CLIENTS: the host is not allowed"},
	} {
		a.provider.Set(func() { a.provider.Requests = nil })
		resp, page, _ := a.page(a.ask(strings.Split(c.change, "&")...).Encode())
		accepted := resp.StatusCode == 200 && strings.Contains(page, `name="request"`) && len(a.provider.Requests) == 1
		refused := resp.StatusCode == 400 && strings.Contains(page, c.want) && len(a.provider.Requests) == 0
		if c.want == "" && !accepted || c.want != "" && !refused {
			t.Errorf("%s: %d %s", c.change, resp.StatusCode, page)
		}
	}

	query := a.ask().Encode()
	if resp, page, _ := a.page(query + "&state=2"); resp.StatusCode != 400 || !strings.Contains(page, "a parameter twice") {
		t.Errorf("a parameter twice: %d %s", resp.StatusCode, page)
	}
	before := a.fetched.Load()
	if a.page(query); a.fetched.Load() != before {
		t.Error("a document was fetched again within its max-age")
	}

	// Without MCP_CLIENTS no private address is called, even if the client_id names it.
	open := startWithAssistants(t, "MCP_CLIENTS=")
	if resp, page, _ := open.page(open.ask().Encode()); resp.StatusCode != 400 || !strings.Contains(page, "not public") || open.fetched.Load() != 0 {
		t.Errorf("a document at a private address: %d %s", resp.StatusCode, page)
	}
}

// A decision is made once, in the browser that signed in, and only on the page itself.
func TestDecisionOnAnAssistant(t *testing.T) {
	t.Parallel()
	a := startWithAssistants(t)
	_, page, browser := a.page(a.ask().Encode())
	_, other, sameBrowser := a.page(a.ask("redirect_uri=cursor://cb").Encode())

	if got := a.decide(page, sameBrowser, "allow"); !strings.HasPrefix(got.Get("error"), "403") {
		t.Errorf("in another browser: %v", got)
	}
	id := regexp.MustCompile(`value="(\w{12})"`).FindStringSubmatch(page)[1]
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example", "Sec-Fetch-Site: same-site"} {
		at, _ := url.Parse(a.inbox.Base + "/admin/assistant")
		cookie := browser.Jar.Cookies(at)[0]
		got, err := apptest.Send(t.Context(), apptest.NoRedirects, "POST", at.String(), "request="+id+"&answer=allow",
			"Content-Type: application/x-www-form-urlencoded", "Cookie: "+cookie.String(), header)
		must(t, err)
		if _ = got.Body.Close(); got.StatusCode != 403 || cookie.Name != "siteapi_assistant_"+id {
			t.Errorf("a form of another site with %s: %d", header, got.StatusCode)
		}
	}

	if got := a.decide(other, sameBrowser, "deny"); got.Get("to") != "cursor://cb" || got.Get("error") != "access_denied" ||
		got.Get("state") != "s&1" || got.Get("iss") != a.site || got.Has("code") {
		t.Errorf("denied: %v", got)
	}
	if got := a.decide(page, browser, "allow"); got.Get("to") != callback || got.Get("state") != "s&1" || got.Get("iss") != a.site {
		t.Errorf("allowed: %v", got)
	}

	// The role is checked in time although the operator took a while to decide.
	db, err := sqlite.OpenDB(t.Context(), filepath.Join(a.Dir, systems.DatabaseFile))
	must(t, err)
	defer func() { _ = db.Close() }()
	var wait int64 // in ms
	must(t, db.QueryRowContext(t.Context(), "SELECT check_at - started_at FROM logins WHERE client <> ''").Scan(&wait))
	if wait >= 900_000 || wait < 840_000 {
		t.Errorf("the role is checked %d ms after the decision", wait)
	}

	if got := a.decide(page, browser, "allow"); !strings.HasPrefix(got.Get("error"), "403") {
		t.Errorf("decided twice: %v", got)
	}

	a.provider.Set(func() { a.provider.Groups = "others" })
	if resp, page, _ := a.page(a.ask().Encode()); resp.StatusCode != 403 || !strings.Contains(page, "no role here") ||
		!strings.Contains(page, "connect your assistant once more") {
		t.Errorf("an account without a role: %d %s", resp.StatusCode, page)
	}
}

// A code works once and for a minute, a refresh token once and a minute longer, both only for
// the client that began. What comes again later ends the grant.
func TestTokensOfAssistants(t *testing.T) {
	t.Parallel()
	a := startWithAssistants(t)
	wrong := func(in url.Values, want string) {
		t.Helper()
		if status, response := a.tokens(in); status != 400 || response["error"] != want || len(response) != 1 {
			t.Errorf("%v: %d %v, want %s", in, status, response, want)
		}
	}

	code := a.code()
	wrong(a.redeem(code, "code_verifier=other"), "invalid_grant")
	wrong(a.redeem(code, "client_id=https://other.example/c"), "invalid_grant")
	wrong(a.redeem(code, "redirect_uri=cursor://cb"), "invalid_grant")
	wrong(a.redeem(code, "resource="+a.site+"/mcp"), "invalid_target")
	wrong(a.redeem(code, "grant_type=client_credentials"), "unsupported_grant_type")
	wrong(a.redeem(code+"x"), "invalid_grant")
	wrong(a.redeem(strings.Replace(code, ".0.", ".1.", 1)), "invalid_grant")
	wrong(a.refresh(code), "invalid_grant")
	repeated := a.redeem(code)
	repeated.Add("client_id", "https://other.example/c")
	wrong(repeated, "invalid_request")

	_, first := a.tokens(a.redeem(code))
	if first["token_type"] != "Bearer" || first["expires_in"] != 3600.0 || first["scope"] != "offline_access" {
		t.Errorf("the tokens: %v", first)
	}
	a.wantAccess(first["access_token"], 200, "a new grant")
	a.wantAccess(first["refresh_token"], 401, "a refresh token as access token")
	a.wantAccess(code, 401, "a code as access token")

	// A lost answer: the replaced token leads to the same tokens for a minute.
	wrong(a.refresh(first["refresh_token"], "client_id=https://other.example/c"), "invalid_grant")
	_, second := a.tokens(a.refresh(first["refresh_token"]))
	a.wantAccess(second["access_token"], 200, "after a renewal")
	a.wantAccess(first["access_token"], 200, "the token before it, for requests under way")
	a.later(30 * time.Second)
	if _, again := a.tokens(a.refresh(first["refresh_token"])); again["refresh_token"] != second["refresh_token"] ||
		again["access_token"] != second["access_token"] {
		t.Errorf("after 30 seconds: %v, want %v", again, second)
	}
	a.later(61 * time.Second)
	a.wantAccess(first["access_token"], 401, "the token before it, after a minute")
	a.later(time.Hour)
	a.wantAccess(second["access_token"], 401, "after an hour")
	_, third := a.tokens(a.refresh(second["refresh_token"]))
	a.wantAccess(third["access_token"], 200, "renewed after an hour")
	a.later(90 * time.Second)
	wrong(a.refresh(second["refresh_token"]), "invalid_grant")
	a.wantAccess(third["access_token"], 401, "a replaced token came after 90 seconds: the grant has ended")
	wrong(a.refresh(third["refresh_token"]), "invalid_grant")

	code = a.code()
	_, tokens := a.tokens(a.redeem(code))
	wrong(a.redeem(code), "invalid_grant")
	a.wantAccess(tokens["access_token"], 401, "the code came twice: the grant has ended")

	code = a.code()
	a.Damage(`UPDATE logins SET expires_at = 1`)
	wrong(a.redeem(code), "invalid_grant")
	logLacks(a.Site, code, fmt.Sprint(third["access_token"]), fmt.Sprint(third["refresh_token"]))
}

// A grant has the role of its operator as the provider confirms it, works at one address only,
// and outlives a restart.
func TestGrantOfAnAssistant(t *testing.T) {
	t.Parallel()
	a := startWithAssistants(t, "ADMIN_PAGE=on")
	a.provider.Set(func() { a.provider.Groups = "ops" })
	token := a.grant()["access_token"]

	for _, path := range []string{"/mcp", "/graphql", "/admin/graphql", "/admin/operator", "/mcp/operators/token", "/admin"} {
		for _, base := range []string{a.site, a.inbox.Base} {
			body, method := `{"query":"{ logins { id } }"}`, "POST"
			if path == "/mcp" {
				body = listTools
			}
			if path == "/admin/operator" {
				method, body = "GET", ""
			}
			got := a.call(token, method, base+path, body)
			if got.Status < 400 && !got.Has(`"UNAUTHENTICATED"`) || got.Has(`"tools"`) {
				t.Errorf("with a grant at %s: %s", base+path, got)
			}
		}
	}
	key, _, _ := strings.Cut(fmt.Sprint(token), ".")
	inboxAnswers(&apptest.Browser{T: t, Base: a.inbox.Base, Cookie: &http.Cookie{Name: "siteapi_login", Value: key}}, "the key of a token as a cookie", "UNAUTHENTICATED")
	for _, other := range []string{"secret-of-operators", "", key, key + ".1.x", "a.b.c"} {
		a.wantAccess(other, 401, "with "+other)
	}
	challenge := a.call("x", "POST", a.site+"/mcp/operators", listTools).Header.Get("WWW-Authenticate")
	want := `Bearer resource_metadata="` + a.site + `/.well-known/oauth-protected-resource/mcp/operators", error="invalid_token"`
	if challenge != want {
		t.Errorf("the challenge is %s, want %s", challenge, want)
	}

	checkIsDue(a.Site, a.provider, func() { a.provider.FailStatus = 502 })
	if got := a.call(token, "POST", a.site+"/mcp/operators", listTools); got.Status != 503 || got.Header.Get("Retry-After") == "" {
		t.Errorf("while the provider is down: %s", got)
	}
	checkIsDue(a.Site, a.provider, func() { a.provider.FailStatus, a.provider.Groups = 0, "marketing" })
	if got := a.call(token, "POST", a.site+"/mcp/operators", listTools); !got.Is(200, `"leads"`) || got.Has("add_lead_note") {
		t.Errorf("as a viewer: %s", got)
	}
	a.End(9)
	a.Start()
	a.wantAccess(token, 200, "after a restart")
	checkIsDue(a.Site, a.provider, func() { a.provider.Groups = "others" })
	a.wantAccess(token, 401, "a role that ended")

	// Without refresh tokens a grant ends at its first check, and the page says so.
	a.provider.Set(func() { a.provider.Groups, a.provider.NoRefresh = "ops", true })
	_, page, browser := a.page(a.ask().Encode())
	if !strings.Contains(page, "in 15 minutes") {
		t.Errorf("the page does not say when it ends: %s", page)
	}
	_, tokens := a.tokens(a.redeem(a.decide(page, browser, "allow").Get("code")))
	a.wantAccess(tokens["access_token"], 200, "before its first check")
	checkIsDue(a.Site, a.provider, func() {})
	a.wantAccess(tokens["access_token"], 401, "at its first check")

	// Nothing is found where nothing is switched on, and at no other path.
	off := apptest.NewSite(t, a.provider.Env(apptest.FreeAddress(t))...).Start()
	for _, path := range []string{
		"/mcp/operators", "/mcp/operators/token", "/.well-known/oauth-authorization-server", "/admin/assistant",
		"/.well-known/oauth-protected-resource/mcp/operators", "/.well-known/oauth-protected-resource",
	} {
		c := apptest.Client{T: t, Base: off.Base}
		if got := c.Do("GET", path, ""); got.Status != 404 {
			t.Errorf("%s with MCP_SIGN_IN=off: %s", path, got)
		}
	}
	c := apptest.Client{T: t, Base: a.site}
	if got := c.Do("GET", "/.well-known/oauth-protected-resource", ""); got.Status != 404 {
		t.Errorf("the metadata without the path: %s", got)
	}
}
