package app

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"siteapi/cmd/siteapi/internal/config"
)

// browser is a client of the inbox with its cookie and the CSRF token of its session.
type browser struct {
	t      *testing.T
	base   string
	cookie *http.Cookie
	csrf   string
}

// send sends a request with the cookie and token of the browser, and returns the response
// and its JSON.
func (b *browser) send(method, path, body string, headers ...string) (*http.Response, map[string]any) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")
	if b.cookie != nil {
		req.AddCookie(b.cookie)
	}
	if b.csrf != "" {
		req.Header.Set("X-CSRF-Token", b.csrf)
	}

	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()

	data, _ := io.ReadAll(resp.Body)
	answer := map[string]any{}
	_ = json.Unmarshal(data, &answer) // a page is not JSON
	return resp, answer
}

func (b *browser) logIn(token string, headers ...string) *http.Response {
	b.t.Helper()
	body, _ := json.Marshal(map[string]string{"token": token})
	resp, answer := b.send("POST", "/admin/session", string(body), headers...)
	if b.csrf, _ = answer["csrf"].(string); len(resp.Cookies()) == 1 {
		b.cookie = resp.Cookies()[0]
	}
	return resp
}

const readLeads = `{"query":"{ leads { edges { node { reference } } } }"}`

// reads returns "OK" if an operator's field answers, or else the error's code.
func (b *browser) reads(path string, headers ...string) (code string) {
	b.t.Helper()
	_, answer := b.send("POST", path, readLeads, headers...)
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
		b.t.Fatalf("answers %s", raw)
	}
	return graphQL.Errors[0].Extensions.Code
}

func (b *browser) want(what, got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func TestInboxSession(t *testing.T) {
	t.Parallel()
	admin, dir := freeAddress(t), t.TempDir()
	r := launch(t, dir, "ADMIN_ADDR="+admin, "ADMIN_API_TOKEN=first,second")
	b := &browser{t: t, base: "http://" + admin}

	b.want("without a session", b.reads("/admin/graphql"), "UNAUTHENTICATED")
	b.want("a bearer token", b.reads("/graphql", "Authorization: Bearer second"), "OK")
	b.want("another token",
		b.reads("/graphql", "Authorization: Bearer "+config.DevCacheToken), "UNAUTHENTICATED")
	b.want("the public address",
		(&browser{t: t, base: r.base}).reads("/graphql", "Authorization: Bearer second"), "UNAUTHENTICATED")

	if resp := b.logIn("wrong"); resp.StatusCode != http.StatusUnauthorized || b.cookie != nil {
		t.Errorf("a wrong token: %d %v", resp.StatusCode, b.cookie)
	}

	for _, body := range []string{`{"token":"second"}garbage`, `{"token":"second"}{}`, `{"token":7}`, `"second"`, ``} {
		if resp, _ := b.send("POST", "/admin/session", body); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("the body %s answers %d", body, resp.StatusCode)
		}
	}

	resp := b.logIn("second")
	if c := b.cookie; resp.StatusCode != http.StatusOK || b.csrf == "" ||
		c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode ||
		c.Path != "/admin" || c.Secure || c.MaxAge != 12*60*60 || strings.Contains(c.Value, "second") ||
		resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("logging in: %d %+v", resp.StatusCode, b.cookie)
	}

	b.want("with a session", b.reads("/admin/graphql"), "OK")
	b.want("a session is for the inbox alone", b.reads("/graphql"), "UNAUTHENTICATED")

	thief := &browser{t: t, base: b.base, cookie: b.cookie}
	b.want("a stolen cookie", thief.reads("/admin/graphql"), "FORBIDDEN")
	if resp, _ := thief.send("POST", "/admin/graphql", readLeads); resp.Header.Get(
		"Content-Type") != "application/problem+json" {
		t.Errorf("a stolen cookie: %d %v", resp.StatusCode, resp.Header)
	}

	b.want("a guessed CSRF token",
		thief.reads("/admin/graphql", "X-CSRF-Token: "+b.cookie.Value), "FORBIDDEN")
	b.want("another site", b.reads("/admin/graphql", "Sec-Fetch-Site: cross-site"), "FORBIDDEN")
	if resp, _ := thief.send("DELETE", "/admin/session", ""); resp.StatusCode != http.StatusForbidden {
		t.Errorf("logging out without the CSRF token: %d", resp.StatusCode)
	}

	for path, want := range map[string]string{
		"/admin":         "GET, HEAD",
		"/admin/session": "DELETE, POST",
		"/admin/graphql": "POST",
	} {
		resp, answer := b.send("PUT", path, "")
		if answer["code"] != "METHOD_NOT_ALLOWED" || resp.StatusCode != http.StatusMethodNotAllowed ||
			resp.Header.Get("Allow") != want {
			t.Errorf("PUT %s: %d %v %v", path, resp.StatusCode, resp.Header, answer)
		}
	}

	if resp, _ := b.send("GET", "/admin", "",
		"Host: evil.example"); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a foreign name of the loopback address: %d", resp.StatusCode)
	}

	changed := *b.cookie
	changed.Value = "9" + changed.Value
	b.want("a longer life",
		(&browser{t: t, base: b.base, cookie: &changed, csrf: b.csrf}).reads("/admin/graphql"),
		"UNAUTHENTICATED")

	if resp, _ := b.send("DELETE", "/admin/session", ""); resp.StatusCode != http.StatusNoContent ||
		len(resp.Cookies()) != 1 || resp.Cookies()[0].MaxAge >= 0 {
		t.Errorf("logging out: %d %v", resp.StatusCode, resp.Cookies())
	}

	eventually(t, "requests are in the log", func() bool {
		return strings.Contains(r.log.String(), `"path":"/admin/session"`)
	})
	for _, text := range []string{"first", "second", b.csrf, b.cookie.Value} {
		if strings.Contains(r.log.String(), text) {
			t.Errorf("the log holds %q", text)
		}
	}

	// Another process goes on with the session, until its token is taken out.
	for token, want := range map[string]string{"second,third": "OK", "third": "UNAUTHENTICATED"} {
		address := freeAddress(t)
		other := launch(t, t.TempDir(), "ADMIN_ADDR="+address, "ADMIN_API_TOKEN="+token)
		b.base = "http://" + address
		b.want("with ADMIN_API_TOKEN="+token, b.reads("/admin/graphql"), want)
		_ = other.end(syscall.SIGKILL)
	}
}

func TestInboxPage(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	r := launch(t, t.TempDir(), "ADMIN_ADDR="+admin)
	public := &browser{t: t, base: r.base}

	for _, path := range []string{"/admin", "/admin/", "/admin/session", "/admin/graphql"} {
		if resp, _ := public.send("GET", path, ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s at the public address: %d", path, resp.StatusCode)
		}
	}

	resp, _ := (&browser{t: t, base: "http://" + admin}).send("GET", "/admin", "")
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
	admin := freeAddress(t)
	launch(t, t.TempDir(), append(defaultLimits(t), "ADMIN_ADDR="+admin)...)

	if page := read(t, "http://"+admin+"/admin"); !strings.Contains(page, `data-open="no"`) {
		t.Errorf("the page: %s", page)
	}
}

// TestInboxInPublic opens the inbox at the public address, behind a proxy that ends TLS.
func TestInboxInPublic(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir(), "ADMIN_PAGE=on", "ADMIN_API_TOKEN=first", "RATE_LIMITS=on")
	b := &browser{t: t, base: r.base}

	if resp := b.logIn("first",
		"Origin: https://"+strings.TrimPrefix(r.base, "http://")); resp.StatusCode != http.StatusOK ||
		!b.cookie.Secure {
		t.Fatalf("logging in: %d %v", resp.StatusCode, b.cookie)
	}

	b.want("with a session", b.reads("/admin/graphql"), "OK")
	b.want("a bearer token", b.reads("/graphql", "Authorization: Bearer first"), "OK")
	if resp := (&browser{t: t, base: r.base}).logIn("first",
		"Origin: https://evil.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("logging in from another site: %d", resp.StatusCode)
	}

	guesser := &browser{t: t, base: r.base}
	last := 0
	for range 11 {
		resp := guesser.logIn("wrong")
		if last = resp.StatusCode; last == http.StatusTooManyRequests &&
			resp.Header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
	}

	if last != http.StatusTooManyRequests {
		t.Errorf("the eleventh wrong token: %d", last)
	}
	if resp := guesser.logIn("first"); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the right token after that: %d", resp.StatusCode)
	}

	b.want("a session goes on", b.reads("/admin/graphql"), "OK")
	eventually(t, "attempts are in the log", func() bool {
		return strings.Contains(r.log.String(), `"path":"/admin/session"`)
	})
}

// Where clients may send trusted documents only, the inbox's page sends its own.
func TestInboxBesideTrustedDocuments(t *testing.T) {
	t.Parallel()
	admin, documents := freeAddress(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(documents, "site.graphql"),
		[]byte("{ cacheStats { success } }"), 0o600); err != nil {
		t.Fatal(err)
	}

	r := launch(t, t.TempDir(), "ADMIN_ADDR="+admin, "GRAPHQL_OPERATIONS=trusted",
		"GRAPHQL_DOCUMENTS="+documents)
	b := &browser{t: t, base: "http://" + admin}
	b.logIn(config.DevAdminToken)

	b.want("within a session", b.reads("/admin/graphql"), "OK")
	b.want("in public", (&browser{t: t, base: r.base}).reads("/graphql"), "QUERY_NOT_IN_SAFELIST")
}
