package inbox

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
)

// logIn logs in with a token.
func logIn(b *apptest.Browser, token string, headers ...string) *http.Response {
	b.T.Helper()
	resp, _ := b.Send("POST", "/admin/login", `{"token":"`+token+`"}`, headers...)
	if len(resp.Cookies()) == 1 {
		b.Cookie = resp.Cookies()[0]
	}
	return resp
}

// withCookie returns a browser with another value of the login's cookie.
func withCookie(b *apptest.Browser, value string) *apptest.Browser {
	return &apptest.Browser{T: b.T, Base: b.Base, Cookie: &http.Cookie{Name: b.Cookie.Name, Value: value}}
}

// answers checks the error code of an operator field at a GraphQL endpoint, which is empty
// if there is no error.
func answers(b *apptest.Browser, what, path, want string, headers ...string) {
	b.T.Helper()
	if code, _ := b.Runs(path, `{ leads { edges { node { reference } } } }`, headers...); code != want {
		b.T.Errorf("%s: %q, want %q", what, code, want)
	}
}

// inboxAnswers checks the error code of an operator field in the inbox.
func inboxAnswers(b *apptest.Browser, what, want string, headers ...string) {
	b.T.Helper()
	answers(b, what, "/admin/graphql", want, headers...)
}

// wantStatus checks the status of a request.
func wantStatus(b *apptest.Browser, status int, method, path, body string, headers ...string) *http.Response {
	b.T.Helper()
	resp, response := b.Send(method, path, body, headers...)
	if resp.StatusCode != status {
		b.T.Errorf("%s %s %s %v: %d %v, want %d", method, path, body, headers, resp.StatusCode, response, status)
	}
	return resp
}

func TestLoginByToken(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	r := apptest.Launch(t, t.TempDir(), "ADMIN_ADDR="+admin, "ADMIN_API_TOKEN=first,second")
	b, public := apptest.NewBrowser(t, admin), apptest.NewBrowser(t, r.Base)

	inboxAnswers(b, "without a login", "UNAUTHENTICATED")
	answers(b, "a bearer token", "/graphql", "", "Authorization: Bearer second")
	answers(b, "another token", "/graphql", "UNAUTHENTICATED", "Authorization: Bearer "+config.DevCacheToken)
	answers(public, "the public address", "/graphql", "UNAUTHENTICATED", "Authorization: Bearer second")
	for body, status := range map[string]int{
		`{"token":"wrong"}`: 401, `{"token":"second"}garbage`: 400, `{"token":7}`: 400, ``: 400,
	} {
		wantStatus(b, status, "POST", "/admin/login", body)
	}

	resp := logIn(b, "second")
	if c := b.Cookie; c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/admin" ||
		c.Secure || c.MaxAge != 12*60*60 || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("logging in: %d %+v", resp.StatusCode, b.Cookie)
	}
	inboxAnswers(b, "logged in", "")
	answers(b, "a login is valid for the inbox only", "/graphql", "UNAUTHENTICATED")
	public.Cookie = b.Cookie // Without ADMIN_PAGE, the public address has no inbox.
	for _, path := range []string{"/admin", "/admin/login", "/admin/callback", "/admin/operator", "/admin/graphql"} {
		wantStatus(public, 404, "GET", path, "")
	}
	if _, who := b.Send("GET", "/admin/operator", ""); who["role"] != "ADMIN" {
		t.Errorf("the logged-in operator is %v", who)
	}
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"} {
		inboxAnswers(b, header, "FORBIDDEN", header)
		wantStatus(b, 403, "DELETE", "/admin/login", "", header)
	}
	inboxAnswers(withCookie(b, "9"+b.Cookie.Value), "a changed lifetime", "UNAUTHENTICATED")

	for path, want := range map[string]string{
		"/admin": "GET, HEAD, OPTIONS", "/admin/login": "POST, DELETE, OPTIONS", "/admin/graphql": "POST, OPTIONS",
	} {
		if allow := wantStatus(b, 405, "PUT", path, "").Header.Get("Allow"); allow != want {
			t.Errorf("PUT %s: Allow %s", path, allow)
		}
	}
	wantStatus(b, 421, "GET", "/admin", "", "Host: evil.example") // another host name of the loopback address
	if c := wantStatus(b, 204, "DELETE", "/admin/login", "").Cookies(); len(c) != 1 || c[0].MaxAge >= 0 {
		t.Errorf("logging out: %v", c)
	}

	r.Logs(`"path":"/admin/login"`)
	for _, text := range []string{"first", "second", b.Cookie.Value} {
		if strings.Contains(b.Cookie.Value, "second") || r.Log.Has(text) {
			t.Errorf("the log contains %q, or the cookie %s contains the token", text, b.Cookie.Value)
		}
	}

	// Another process accepts the login until its token is removed.
	for token, want := range map[string]string{"second,third": "", "third": "UNAUTHENTICATED"} {
		address := apptest.FreeAddress(t)
		other := apptest.Launch(t, t.TempDir(), "ADMIN_ADDR="+address, "ADMIN_API_TOKEN="+token)
		b.Base = "http://" + address
		inboxAnswers(b, "with ADMIN_API_TOKEN="+token, want)
		_ = other.End(syscall.SIGKILL)
	}
}

// The page is served at ADMIN_ADDR only. Without an operator token it reports that it is
// closed.
func TestInboxPage(t *testing.T) {
	t.Parallel()
	for open, env := range map[string][]string{"yes": nil, "no": apptest.DefaultLimits(t)} {
		admin := apptest.FreeAddress(t)
		r := apptest.Launch(t, t.TempDir(), append(env, "ADMIN_ADDR="+admin)...)
		public := apptest.NewBrowser(t, r.Base)
		for _, path := range []string{"/admin", "/admin/", "/admin/operator", "/admin/graphql"} {
			wantStatus(public, 404, "GET", path, "")
		}

		page := (&apptest.Client{T: t, Base: "http://" + admin}).Do("GET", "/", "") // follows the redirect
		if !page.Has(`data-open="`+open+`"`) || page.Header.Get("Cache-Control") != "no-store" ||
			!strings.HasPrefix(page.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("the page: %d %v %s", page.Status, page.Header, page.Body)
		}
	}
}

// The page offers a token field only where tokens are accepted: without accounts, or at
// ADMIN_ADDR from the machine itself.
func TestTokenField(t *testing.T) {
	t.Parallel()
	p, admin, public := apptest.NewProvider(t), apptest.FreeAddress(t), apptest.FreeAddress(t)
	apptest.NewSite(t, append(p.Env(admin), "ADMIN_PAGE=on", "LISTEN_ADDR="+public, "TRUSTED_PROXIES=127.0.0.1")...).Start()
	for _, c := range []struct {
		address string
		headers []string
		local   bool
	}{
		{admin, nil, true},
		{admin, []string{"X-Forwarded-For: 192.0.2.1"}, false}, // through a proxy
		{public, nil, false},
		{public, []string{"X-Forwarded-For: 127.0.0.1"}, false},
	} {
		b, status := apptest.NewBrowser(t, c.address), 403
		if c.local {
			status = 200
		}
		wantStatus(b, status, "POST", "/admin/login", `{"token":"secret-of-operators"}`, c.headers...)
		page := (&apptest.Client{T: t, Base: b.Base}).Do("GET", "/admin", "", c.headers...)
		if !page.Has(fmt.Sprintf(`data-local="%v"`, c.local)) {
			t.Errorf("%s %s: %s", c.address, c.headers, page.Body)
		}
	}
}

// TestInboxInPublic opens the inbox at the public address, behind a proxy that terminates
// TLS.
func TestInboxInPublic(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), "ADMIN_PAGE=on", "ADMIN_API_TOKEN=first", "RATE_LIMITS=on")
	b, guesser := apptest.NewBrowser(t, r.Base), apptest.NewBrowser(t, r.Base)
	resp := logIn(b, "first", "Origin: https://"+strings.TrimPrefix(r.Base, "http://"))
	if resp.StatusCode != 200 || !b.Cookie.Secure {
		t.Fatalf("logging in: %d %v", resp.StatusCode, b.Cookie)
	}

	answers(b, "a bearer token", "/graphql", "", "Authorization: Bearer first")
	for resp.StatusCode != 429 {
		if resp = logIn(guesser, "wrong"); resp.StatusCode == 200 {
			t.Fatal("a wrong token logs in")
		}
	}
	if resp := logIn(guesser, "first"); resp.StatusCode != 429 ||
		resp.Header.Get("Retry-After") == "" {
		t.Errorf("the right token after many wrong ones: %d %v", resp.StatusCode, resp.Header)
	}
	inboxAnswers(b, "a login remains valid", "")
}

// If clients may send only trusted documents, those of the inbox and of the routes are still
// accepted.
func TestInboxWithTrustedDocuments(t *testing.T) {
	t.Parallel()
	documents := t.TempDir()
	must(t, os.WriteFile(filepath.Join(documents, "site.graphql"), []byte("{ cacheStats { success } }"), 0o600))
	r := apptest.Launch(t, t.TempDir(), "ADMIN_PAGE=on", "GRAPHQL_OPERATIONS=trusted", "GRAPHQL_DOCUMENTS="+documents)
	b := apptest.NewBrowser(t, r.Base)
	logIn(b, config.DevAdminToken)
	inboxAnswers(b, "logged in", "")
	answers(b, "in public", "/graphql", "QUERY_NOT_IN_SAFELIST")
	if got := r.Query("{ cacheStats { success } }"); !strings.Contains(got, `"success":true`) {
		t.Errorf("a trusted document: %s", got)
	}
	if got := r.TrackThrough("REST", object{"sessionId": "s"}); got.Status != 200 {
		t.Errorf("the document of a route: %s", got)
	}
}
