package inbox

import (
	"encoding/json"
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
	body, _ := json.Marshal(object{"token": token})
	resp, _ := b.Send("POST", "/admin/login", string(body), headers...)
	if len(resp.Cookies()) == 1 {
		b.Cookie = resp.Cookies()[0]
	}
	return resp
}

// errorCode returns the error code of an operator field, or an empty string.
func errorCode(b *apptest.Browser, path string, headers ...string) string {
	b.T.Helper()
	code, _ := b.Runs(path, `{ leads { edges { node { reference } } } }`, headers...)
	return code
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

	b.Want("without a login", errorCode(b, "/admin/graphql"), "UNAUTHENTICATED")
	b.Want("a bearer token", errorCode(b, "/graphql", "Authorization: Bearer second"), "")
	b.Want("another token", errorCode(b, "/graphql", "Authorization: Bearer "+config.DevCacheToken), "UNAUTHENTICATED")
	b.Want("the public address", errorCode(public, "/graphql", "Authorization: Bearer second"), "UNAUTHENTICATED")
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
	b.Want("logged in", errorCode(b, "/admin/graphql"), "")
	b.Want("a login is valid for the inbox only", errorCode(b, "/graphql"), "UNAUTHENTICATED")
	if _, who := b.Send("GET", "/admin/operator", ""); who["role"] != "ADMIN" {
		t.Errorf("the logged-in operator is %v", who)
	}
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"} {
		b.Want(header, errorCode(b, "/admin/graphql", header), "FORBIDDEN")
		wantStatus(b, 403, "DELETE", "/admin/login", "", header)
	}
	changed := *b.Cookie
	changed.Value = "9" + changed.Value
	longer := &apptest.Browser{T: t, Base: b.Base, Cookie: &changed}
	b.Want("a changed lifetime", errorCode(longer, "/admin/graphql"), "UNAUTHENTICATED")

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
		b.Want("with ADMIN_API_TOKEN="+token, errorCode(b, "/admin/graphql"), want)
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

	b.Want("a bearer token", errorCode(b, "/graphql", "Authorization: Bearer first"), "")
	for resp.StatusCode != 429 {
		if resp = logIn(guesser, "wrong"); resp.StatusCode == 200 {
			t.Fatal("a wrong token logs in")
		}
	}
	if resp := logIn(guesser, "first"); resp.StatusCode != 429 ||
		resp.Header.Get("Retry-After") == "" {
		t.Errorf("the right token after many wrong ones: %d %v", resp.StatusCode, resp.Header)
	}
	b.Want("a login remains valid", errorCode(b, "/admin/graphql"), "")
}

// If clients may send only trusted documents, those of the inbox and of the routes are still
// accepted.
func TestInboxWithTrustedDocuments(t *testing.T) {
	t.Parallel()
	documents := t.TempDir()
	err := os.WriteFile(filepath.Join(documents, "site.graphql"), []byte("{ cacheStats { success } }"), 0o600)
	must(t, err)

	r := apptest.Launch(t, t.TempDir(), "ADMIN_PAGE=on", "GRAPHQL_OPERATIONS=trusted", "GRAPHQL_DOCUMENTS="+documents)
	b := apptest.NewBrowser(t, r.Base)
	logIn(b, config.DevAdminToken)
	b.Want("logged in", errorCode(b, "/admin/graphql"), "")
	b.Want("in public", errorCode(b, "/graphql"), "QUERY_NOT_IN_SAFELIST")
	if got := r.Query("{ cacheStats { success } }"); !strings.Contains(got, `"success":true`) {
		t.Errorf("a trusted document: %s", got)
	}
	if got := r.TrackThrough("REST", object{"sessionId": "s"}); got.Status != 200 {
		t.Errorf("the document of a route: %s", got)
	}
}
