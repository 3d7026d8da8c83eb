package inbox

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
)

func logIn(b *apptest.Browser, token string, headers ...string) *http.Response {
	b.T.Helper()
	body, _ := json.Marshal(map[string]string{"token": token})
	resp, answer := b.Send("POST", "/admin/session", string(body), headers...)
	if b.CSRF, _ = answer["csrf"].(string); len(resp.Cookies()) == 1 {
		b.Cookie = resp.Cookies()[0]
	}
	return resp
}

const readLeads = `{"query":"{ leads { edges { node { reference } } } }"}`

// reads returns "OK" if an operator's field answers, or else the error's code.
func reads(b *apptest.Browser, path string, headers ...string) (code string) {
	b.T.Helper()
	_, answer := b.Send("POST", path, readLeads, headers...)
	if data, ok := answer["data"].(map[string]any); ok && data["leads"] != nil {
		return "OK"
	}
	if code, ok := answer["code"].(string); ok {
		return code
	}

	var graphQL struct {
		Errors []struct{ Extensions struct{ Code string } }
	}
	raw, _ := json.Marshal(answer)
	if json.Unmarshal(raw, &graphQL) != nil || len(graphQL.Errors) == 0 {
		b.T.Fatalf("answers %s", raw)
	}
	return graphQL.Errors[0].Extensions.Code
}

func TestInboxSession(t *testing.T) {
	t.Parallel()
	admin, dir := apptest.FreeAddress(t), t.TempDir()
	r := apptest.Launch(t, dir, "ADMIN_ADDR="+admin, "ADMIN_API_TOKEN=first,second")
	b := &apptest.Browser{T: t, Base: "http://" + admin}

	b.Want("without a session", reads(b, "/admin/graphql"), "UNAUTHENTICATED")
	b.Want("a bearer token", reads(b, "/graphql", "Authorization: Bearer second"), "OK")
	b.Want("another token",
		reads(b, "/graphql", "Authorization: Bearer "+config.DevCacheToken), "UNAUTHENTICATED")
	b.Want("the public address",
		reads((&apptest.Browser{T: t, Base: r.Base}), "/graphql", "Authorization: Bearer second"), "UNAUTHENTICATED")

	if resp := logIn(b, "wrong"); resp.StatusCode != http.StatusUnauthorized || b.Cookie != nil {
		t.Errorf("a wrong token: %d %v", resp.StatusCode, b.Cookie)
	}

	for _, body := range []string{`{"token":"second"}garbage`, `{"token":"second"}{}`, `{"token":7}`, `"second"`, ``} {
		if resp, _ := b.Send("POST", "/admin/session", body); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("the body %s answers %d", body, resp.StatusCode)
		}
	}

	resp := logIn(b, "second")
	if c := b.Cookie; resp.StatusCode != http.StatusOK || b.CSRF == "" ||
		c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode ||
		c.Path != "/admin" || c.Secure || c.MaxAge != 12*60*60 || strings.Contains(c.Value, "second") ||
		resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("logging in: %d %+v", resp.StatusCode, b.Cookie)
	}

	b.Want("with a session", reads(b, "/admin/graphql"), "OK")
	b.Want("a session is for the inbox alone", reads(b, "/graphql"), "UNAUTHENTICATED")

	thief := &apptest.Browser{T: t, Base: b.Base, Cookie: b.Cookie}
	b.Want("a stolen cookie", reads(thief, "/admin/graphql"), "FORBIDDEN")
	if resp, _ := thief.Send("POST", "/admin/graphql", readLeads); resp.Header.Get(
		"Content-Type") != "application/problem+json" {
		t.Errorf("a stolen cookie: %d %v", resp.StatusCode, resp.Header)
	}

	b.Want("a guessed CSRF token",
		reads(thief, "/admin/graphql", "X-CSRF-Token: "+b.Cookie.Value), "FORBIDDEN")
	b.Want("another site", reads(b, "/admin/graphql", "Sec-Fetch-Site: cross-site"), "FORBIDDEN")
	if resp, _ := thief.Send("DELETE", "/admin/session", ""); resp.StatusCode != http.StatusForbidden {
		t.Errorf("logging out without the CSRF token: %d", resp.StatusCode)
	}

	for path, want := range map[string]string{
		"/admin":         "GET, HEAD",
		"/admin/session": "DELETE, POST",
		"/admin/graphql": "POST",
	} {
		resp, answer := b.Send("PUT", path, "")
		if answer["code"] != "METHOD_NOT_ALLOWED" || resp.StatusCode != http.StatusMethodNotAllowed ||
			resp.Header.Get("Allow") != want {
			t.Errorf("PUT %s: %d %v %v", path, resp.StatusCode, resp.Header, answer)
		}
	}

	if resp, _ := b.Send("GET", "/admin", "",
		"Host: evil.example"); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a foreign name of the loopback address: %d", resp.StatusCode)
	}

	changed := *b.Cookie
	changed.Value = "9" + changed.Value
	b.Want("a longer life",
		reads((&apptest.Browser{T: t, Base: b.Base, Cookie: &changed, CSRF: b.CSRF}), "/admin/graphql"),
		"UNAUTHENTICATED")

	if resp, _ := b.Send("DELETE", "/admin/session", ""); resp.StatusCode != http.StatusNoContent ||
		len(resp.Cookies()) != 1 || resp.Cookies()[0].MaxAge >= 0 {
		t.Errorf("logging out: %d %v", resp.StatusCode, resp.Cookies())
	}

	apptest.Eventually(t, "requests are in the log", func() bool {
		return strings.Contains(r.Log.String(), `"path":"/admin/session"`)
	})
	for _, text := range []string{"first", "second", b.CSRF, b.Cookie.Value} {
		if strings.Contains(r.Log.String(), text) {
			t.Errorf("the log holds %q", text)
		}
	}

	// Another process goes on with the session, until its token is taken out.
	for token, want := range map[string]string{"second,third": "OK", "third": "UNAUTHENTICATED"} {
		address := apptest.FreeAddress(t)
		other := apptest.Launch(t, t.TempDir(), "ADMIN_ADDR="+address, "ADMIN_API_TOKEN="+token)
		b.Base = "http://" + address
		b.Want("with ADMIN_API_TOKEN="+token, reads(b, "/admin/graphql"), want)
		_ = other.End(syscall.SIGKILL)
	}
}

func TestInboxPage(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	r := apptest.Launch(t, t.TempDir(), "ADMIN_ADDR="+admin)
	public := &apptest.Browser{T: t, Base: r.Base}

	for _, path := range []string{"/admin", "/admin/", "/admin/session", "/admin/graphql"} {
		if resp, _ := public.Send("GET", path, ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s at the public address: %d", path, resp.StatusCode)
		}
	}

	resp, _ := (&apptest.Browser{T: t, Base: "http://" + admin}).Send("GET", "/admin", "")
	policy := resp.Header.Get("Content-Security-Policy")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Control") != "no-store" ||
		!strings.HasPrefix(policy, "default-src 'none'") || resp.Header.Get("X-Request-Id") == "" {
		t.Errorf("the page: %d %v", resp.StatusCode, resp.Header)
	}

	if page := read(t, "http://"+admin); !strings.Contains(page, `data-open="yes"`) {
		t.Errorf("/ of ADMIN_ADDR does not lead to the inbox: %s", page)
	}
}

// read returns the text at an address, following redirects.
func read(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()

	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Without a token of operators the page says that it is closed.
func TestInboxIsClosed(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	apptest.Launch(t, t.TempDir(), append(apptest.DefaultLimits(t), "ADMIN_ADDR="+admin)...)

	if page := read(t, "http://"+admin+"/admin"); !strings.Contains(page, `data-open="no"`) {
		t.Errorf("the page: %s", page)
	}
}

// TestInboxInPublic opens the inbox at the public address, behind a proxy that ends TLS.
func TestInboxInPublic(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), "ADMIN_PAGE=on", "ADMIN_API_TOKEN=first", "RATE_LIMITS=on")
	b := &apptest.Browser{T: t, Base: r.Base}

	if resp := logIn(b, "first",
		"Origin: https://"+strings.TrimPrefix(r.Base, "http://")); resp.StatusCode != http.StatusOK ||
		!b.Cookie.Secure {
		t.Fatalf("logging in: %d %v", resp.StatusCode, b.Cookie)
	}

	b.Want("with a session", reads(b, "/admin/graphql"), "OK")
	b.Want("a bearer token", reads(b, "/graphql", "Authorization: Bearer first"), "OK")
	if resp := logIn((&apptest.Browser{T: t, Base: r.Base}), "first",
		"Origin: https://evil.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("logging in from another site: %d", resp.StatusCode)
	}

	guesser := &apptest.Browser{T: t, Base: r.Base}
	last := 0
	for range 11 {
		resp := logIn(guesser, "wrong")
		if last = resp.StatusCode; last == http.StatusTooManyRequests &&
			resp.Header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
	}

	if last != http.StatusTooManyRequests {
		t.Errorf("the eleventh wrong token: %d", last)
	}
	if resp := logIn(guesser, "first"); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the right token after that: %d", resp.StatusCode)
	}

	b.Want("a session goes on", reads(b, "/admin/graphql"), "OK")
	apptest.Eventually(t, "attempts are in the log", func() bool {
		return strings.Contains(r.Log.String(), `"path":"/admin/session"`)
	})
}

// Where clients may send trusted documents only, the inbox's page sends its own.
func TestInboxBesideTrustedDocuments(t *testing.T) {
	t.Parallel()
	admin, documents := apptest.FreeAddress(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(documents, "site.graphql"),
		[]byte("{ cacheStats { success } }"), 0o600); err != nil {
		t.Fatal(err)
	}

	r := apptest.Launch(t, t.TempDir(), "ADMIN_ADDR="+admin, "GRAPHQL_OPERATIONS=trusted",
		"GRAPHQL_DOCUMENTS="+documents)
	b := &apptest.Browser{T: t, Base: "http://" + admin}
	logIn(b, config.DevAdminToken)

	b.Want("within a session", reads(b, "/admin/graphql"), "OK")
	b.Want("in public", reads((&apptest.Browser{T: t, Base: r.Base}), "/graphql"), "QUERY_NOT_IN_SAFELIST")
}
