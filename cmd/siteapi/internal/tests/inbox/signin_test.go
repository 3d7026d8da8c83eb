package inbox

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store/storetest/pgserver"
)

// roleIs checks what the inbox answers in this browser.
func roleIs(b *apptest.Browser, what string, contact, deliveries, health string) {
	b.T.Helper()
	for query, want := range map[string]string{
		`{ leads { edges { node { contact { email } } } } }`: contact,
		`{ deliveries { edges { node { id } } } }`:           deliveries,
		`{ serviceHealth { version } }`:                      health,
	} {
		_, answer := b.Send("POST", "/admin/graphql", `{"query":"`+query+`"}`)
		raw, _ := json.Marshal(answer)
		if !strings.Contains(string(raw), want) {
			b.T.Errorf("%s: %s gives %s, want %s", what, query, raw, want)
		}
	}
}

// Operators sign in with their accounts, at any instance, and have the highest role of their
// groups.
func TestSignIn(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, p.Environ(address)...).Start()
	b := &apptest.Browser{T: t, Base: "http://" + address}
	id := s.Submit("one")
	s.Arrives(id)

	resp, text := b.SignsIn()
	if b.Cookie == nil || b.CSRF == "" || resp.Request.URL.Path != "/admin" {
		t.Fatalf("signing in: %d %s %s", resp.StatusCode, resp.Request.URL, text)
	}
	roleIs(b, "viewer", `"contact":null`, "FORBIDDEN", "FORBIDDEN")
	b.Want("a session is for the inbox alone", reads(b, "/graphql"), "UNAUTHENTICATED")

	thief := &apptest.Browser{T: t, Base: b.Base, Cookie: b.Cookie}
	b.Want("without the CSRF token", reads(thief, "/admin/graphql"), "FORBIDDEN")
	if resp, _ := thief.Send("GET", "/admin/session", "", "Sec-Fetch-Site: cross-site",
		"Origin: https://evil.example"); resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another site reads the session: %v", resp.Header)
	}

	for groups, role := range map[string][3]string{
		"desk": {"one@example.com", `"deliveries":{`, "FORBIDDEN"},
		"ops":  {"one@example.com", `"deliveries":{`, `"version"`},
	} {
		p.Set(func() { p.Groups = []string{"marketing", groups, "others"} })
		old := *b.Cookie
		if b.SignsIn(); b.Cookie == nil || b.Cookie.Value == old.Value {
			t.Fatalf("%s: no new session", groups)
		}
		roleIs(b, groups, role[0], role[1], role[2])
	}

	// A second instance and a restart know the session; ending it ends it everywhere.
	s.End(9)
	s.Start()
	b.Want("after a restart", reads(b, "/admin/graphql"), "OK")
	out, _ := s.Run("logins", "list")
	if strings.Count(out, "person-1") != 3 || strings.Contains(out, b.Cookie.Value) {
		t.Errorf("the sessions: %s", out)
	}
	entries, _ := b.Audited()
	if len(entries) == 0 || !strings.HasPrefix(entries[len(entries)-1], "oidc:person-1 LISTED") {
		t.Errorf("the audit: %v", entries)
	}
	s.Says(apptest.Said{Args: "logins end --all", Want: []string{"3"}})
	b.Want("after it was ended", reads(b, "/admin/graphql"), "UNAUTHENTICATED")

	for _, secret := range []string{"client-secret", "refresh-secret", b.Cookie.Value, lead.Reference(id) + "x"} {
		if strings.Contains(s.Log.String(), secret) {
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
	p := apptest.NewProvider(t)
	s := apptest.NewSite(t, append(p.Environ("127.0.0.1:1"), "ADMIN_ADDR=off", "ADMIN_PAGE=on")...).Start()
	from := func(path string, cookies ...*http.Cookie) *http.Response {
		t.Helper()
		return firstAnswer(t, s.Base+path, "evil.example", cookies...)
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

	local := &apptest.Browser{T: t, Base: s.Base}
	if resp := logIn(local, "secret-of-operators", "Host: localhost"); resp.StatusCode != 403 {
		t.Errorf("the token at LISTEN_ADDR: %d", resp.StatusCode)
	}
}

// Two instances share sessions: what one starts the other knows, and what one ends has ended
// at the other. A role that is due is checked once.
func TestSignInTwoInstances(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	addresses := [2]string{apptest.FreeAddress(t), apptest.FreeAddress(t)}
	database := "DATABASE_URL=" + pgserver.Start(t).NewDatabase(t)

	var browsers [2]*apptest.Browser
	for i, address := range addresses {
		apptest.NewSite(t, append(p.Environ(addresses[0]), "ADMIN_ADDR="+address, database)...).Start()
		browsers[i] = &apptest.Browser{T: t, Base: "http://" + address}
	}
	one, two := browsers[0], browsers[1]

	if _, text := one.SignsIn(); one.Cookie == nil {
		t.Fatal(text)
	}
	two.Cookie, two.CSRF = one.Cookie, one.CSRF
	roleIs(two, "the other instance", `"leads":{`, "FORBIDDEN", "FORBIDDEN")

	p.Set(func() { p.Groups, p.Refreshed = "ops", 0 })
	out, code := apptest.Command(
		t,
		[]string{"ENVIRONMENT=development", database, "DATA_DIR=" + t.TempDir()},
		"logins",
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
			func() { roleIs(browsers[i%2], "after the check", `"leads":{`, `"deliveries":{`, `"version"`) },
		)
	}
	group.Wait()
	if p.Set(func() {}); p.Refreshed != 1 {
		t.Errorf("the role was checked %d times", p.Refreshed)
	}

	if resp, _ := two.Send("DELETE", "/admin/session", ""); resp.StatusCode != 204 {
		t.Errorf("ending the session: %d", resp.StatusCode)
	}
	one.Want("ended at the other", reads(one, "/admin/graphql"), "UNAUTHENTICATED")
}

// The doctor says whether the provider answers, and as the issuer of the settings.
func TestSignInDoctor(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	s := apptest.NewSite(t, p.Environ(apptest.FreeAddress(t))...)

	c, _ := s.Doctor(nil)
	c.Says(t, "sign-in", "OK", p.URL+"/authorize")
	c, code := s.Doctor([]string{"OIDC_ISSUER=" + p.URL + "/"})
	if c.Says(t, "sign-in", "FAILED", "did not match"); code != 2 {
		t.Errorf("exit code %d", code)
	}
	c, _ = s.Doctor([]string{"OIDC_ROLES=nobody"})
	c.Says(t, "sign-in", "WARNING", "not checked")

	p.Set(func() { p.Away = http.StatusBadGateway })
	c, _ = s.Doctor(nil)
	c.Says(t, "sign-in", "FAILED", "502")
	c, _ = s.Doctor([]string{"OIDC_ISSUER="})
	c.Says(t, "sign-in", "OK", "no accounts")
}

// A login that the provider does not confirm starts no session.
func TestSignInFaults(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, p.Environ(address)...).Start()
	b := &apptest.Browser{T: t, Base: "http://" + address}

	refused := func(what string, status int, claims map[string]any) {
		t.Helper()
		p.Set(func() { p.Claims = claims })
		resp, text := b.SignsIn()
		if resp.StatusCode != status || b.Cookie != nil {
			t.Errorf("%s: %d %s, want %d", what, resp.StatusCode, text, status)
		}
		p.Set(func() { p.Claims = nil })
	}

	p.Set(func() { p.Away = http.StatusBadGateway })
	refused("the provider is away", 503, nil)
	p.Set(func() { p.Away = 0 })

	refused("issuer", 403, map[string]any{"iss": "https://evil.example"})
	refused("audience", 403, map[string]any{"aud": "another"})
	refused("nonce", 403, map[string]any{"nonce": "another"})
	refused("expired", 403, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})
	refused("no subject", 403, map[string]any{"sub": ""})
	refused("no group", 403, map[string]any{"groups": []string{"others"}})
	refused("no claim", 403, map[string]any{"groups": nil})
	if _, text := b.SignsIn(); b.Cookie == nil {
		t.Fatalf("a good token is refused: %s", text)
	}
	p.Rotate("second")
	if _, text := b.SignsIn(); b.Cookie == nil {
		t.Errorf("the new key is refused: %s", text)
	}

	// The log says why, and so does the browser if it is the account's groups.
	for _, cause := range []string{"502", `expected audience`, "the nonce is another one", "token is expired", "no subject"} {
		apptest.Eventually(t, cause+" is in the log", func() bool { return strings.Contains(s.Log.String(), cause) })
	}

	// What another browser began is not finished here, and a code works once.
	get := func(address string, cookies ...*http.Cookie) *http.Response {
		t.Helper()
		return firstAnswer(t, address, "", cookies...)
	}

	begun := get(b.Base + "/admin/login?return=https://evil.example")
	login := begun.Cookies()[0]
	if !login.HttpOnly || login.SameSite != http.SameSiteLaxMode ||
		strings.Contains(begun.Header.Get("Location"), "evil") {
		t.Errorf("the login: %v %s", login, begun.Header.Get("Location"))
	}
	back := get(begun.Header.Get("Location")).Header.Get("Location")
	if resp := get(back); resp.StatusCode != 403 {
		t.Errorf("in another browser: %d", resp.StatusCode)
	}
	if resp := get(back, get(b.Base + "/admin/login").Cookies()[0]); resp.StatusCode != 403 {
		t.Errorf("with another login: %d", resp.StatusCode)
	}
	if resp := get(back, login); resp.StatusCode != 303 || resp.Header.Get("Location") != "/admin" {
		t.Errorf("the login that was begun: %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	if resp := get(back, login); resp.StatusCode != 403 {
		t.Errorf("the code once more: %d", resp.StatusCode)
	}

	// The token opens the page on the machine itself only.
	if resp := logIn((&apptest.Browser{T: t, Base: b.Base}), "secret-of-operators"); resp.StatusCode != 200 {
		t.Errorf("the token on loopback: %d", resp.StatusCode)
	}
	if resp := logIn((&apptest.Browser{T: t, Base: b.Base}), "secret-of-operators",
		"X-Forwarded-For: 192.0.2.1"); resp.StatusCode != 403 {
		t.Errorf("the token through a proxy: %d", resp.StatusCode)
	}
}

// After 15 minutes the provider is asked again: a group that was taken away ends what it
// opened.
func TestSignInRenews(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, p.Environ(address)...).Start()
	b := &apptest.Browser{T: t, Base: "http://" + address}

	p.Set(func() { p.Groups = "ops" })
	if _, text := b.SignsIn(); b.Cookie == nil {
		t.Fatal(text)
	}
	later := func() { s.Damage(`UPDATE logins SET check_at = 1`) }

	p.Set(func() { p.Away = http.StatusBadGateway })
	later()
	b.Want("the provider is away", reads(b, "/admin/graphql"), "UPSTREAM_UNAVAILABLE")
	b.Want("it is still away", reads(b, "/admin/graphql"), "UPSTREAM_UNAVAILABLE")
	p.Set(func() { p.Away = http.StatusTooManyRequests })
	later()
	b.Want("it limits the rate", reads(b, "/admin/graphql"), "UPSTREAM_UNAVAILABLE")
	p.Set(func() { p.Away, p.Groups = 0, []string{"marketing"} })
	later()
	roleIs(b, "a lower role", `"leads":{`, "FORBIDDEN", "FORBIDDEN")

	p.Set(func() { p.Groups = []string{} })
	later()
	b.Want("no role any more", reads(b, "/admin/graphql"), "UNAUTHENTICATED")
	p.Set(func() { p.Groups = "ops" })
	b.Want("the session has ended", reads(b, "/admin/graphql"), "UNAUTHENTICATED")
}

// Admins see who is signed in, and end the sessions of others.
func TestLogins(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, p.Environ(address)...).Start()

	signIn := func(group string) *apptest.Browser {
		t.Helper()
		b := &apptest.Browser{T: t, Base: "http://" + address}
		p.Set(func() { p.Groups, p.Claims = group, map[string]any{"sub": "of-" + group} })
		if _, text := b.SignsIn(); b.Cookie == nil {
			t.Fatal(text)
		}
		return b
	}
	sales, admin := signIn("sales"), signIn("ops")

	type session struct{ ID, Actor, Role, StartedAt, CheckAt, ExpiresAt string }
	var answer struct {
		Data struct {
			Logins    []session
			EndLogins int
		}
	}
	ask := func(b *apptest.Browser, operation string) string {
		t.Helper()
		_, raw := b.Send("POST", "/admin/graphql", `{"query":"`+operation+`"}`)
		text, _ := json.Marshal(raw)
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	text := ask(admin, `{ logins { id actor role startedAt checkAt expiresAt } }`)
	list := answer.Data.Logins
	if len(list) != 2 || list[0].Actor != "oidc:of-ops" || list[0].Role != "ADMIN" ||
		list[1].Actor != "oidc:of-sales" || list[1].CheckAt <= list[1].StartedAt ||
		list[1].ExpiresAt <= list[1].CheckAt {
		t.Fatalf("the sessions: %s", text)
	}
	if out, _ := s.Run("logins", "list"); !strings.Contains(out, list[1].ID) {
		t.Errorf("the command names %s otherwise: %s", list[1].ID, out)
	}

	thief := &http.Cookie{Name: sales.Cookie.Name, Value: list[1].ID}
	opened := reads((&apptest.Browser{T: t, Base: sales.Base, Cookie: thief}), "/admin/graphql")
	sales.Want("the id as a cookie", opened, "UNAUTHENTICATED")

	end := `mutation { endLogins(ids: [\"` + list[1].ID + `\"]) }`
	if text := ask(sales, end); !strings.Contains(text, "FORBIDDEN") {
		t.Errorf("sales ends a session: %s", text)
	}
	sales.Want("before it is ended", reads(sales, "/admin/graphql"), "OK")
	if text := ask(admin, end); answer.Data.EndLogins != 1 {
		t.Errorf("ending it: %s", text)
	}
	sales.Want("after it was ended", reads(sales, "/admin/graphql"), "UNAUTHENTICATED")
	if text := ask(admin, end); !strings.Contains(text, "NOT_FOUND") {
		t.Errorf("ending it again: %s", text)
	}

	s.Says(apptest.Said{Args: "logins end " + list[0].ID, Want: []string{"1"}})
	entries, details := admin.Audited()
	want := []string{"oidc:of-ops LOGIN_ENDED -", "command:"}
	if len(entries) != 2 || entries[0] != want[0] || !strings.HasPrefix(entries[1], want[1]) ||
		details[0].Detail != `{"login":"`+list[1].ID+`","of":"oidc:of-sales"}` {
		t.Errorf("the audit: %v", entries)
	}
}

// Without refresh tokens the page goes to the provider and back, which asks nothing. Where it
// has to ask, it is allowed to.
func TestSignInSilently(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	p.NoRefresh = true
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, p.Environ(address)...).Start()
	b := &apptest.Browser{T: t, Base: "http://" + address}

	if _, text := b.SignsIn(); b.Cookie == nil {
		t.Fatal(text)
	}
	first := *b.Cookie
	b.Want("before the check", reads(b, "/admin/graphql"), "OK")
	s.Damage(`UPDATE logins SET check_at = 1`)
	b.Want("when the role is due", reads(b, "/admin/graphql"), "UNAUTHENTICATED")
	b.Want("after that", reads(b, "/admin/graphql"), "UNAUTHENTICATED")

	for prompt, failure := range map[string]string{"": "", "none": "login_required"} {
		p.Set(func() { p.Answers = map[string]string{prompt: failure} })
		resp, text := b.SignsInAt("/admin/login?silent=1")
		if b.Cookie == nil || b.Cookie.Value == first.Value || resp.Request.URL.Path != "/admin" {
			t.Fatalf("%s: %d %s %s", failure, resp.StatusCode, resp.Request.URL, text)
		}
		b.Want("once more", reads(b, "/admin/graphql"), "OK")
	}

	// A provider that asks for a person even where it may ask one is not asked for ever.
	p.Set(func() { p.Answers = map[string]string{"": "login_required", "none": "login_required"} })
	if resp, _ := b.SignsInAt("/admin/login?silent=1"); resp.StatusCode != 403 || b.Cookie != nil {
		t.Errorf("a provider that always asks: %d", resp.StatusCode)
	}
	p.Set(func() { p.Answers = nil; p.Groups = "others" })
	if resp, text := b.SignsInAt("/admin/login?silent=1"); b.Cookie != nil ||
		!strings.Contains(text, "&#34;groups&#34;") {
		t.Errorf("the group was taken away: %d %s", resp.StatusCode, text)
	}
}

// A login that fails ends at a page that says why in words, and offers to try again.
func TestSignInRefusalIsAPage(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	address := apptest.FreeAddress(t)
	apptest.NewSite(t, p.Environ(address)...).Start()
	b := &apptest.Browser{T: t, Base: "http://" + address}

	wantPage := func(what string, status int, words string) {
		t.Helper()
		resp, text := b.SignsIn()
		if resp.StatusCode != status || b.Cookie != nil || !strings.Contains(text, words) ||
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
		p.Set(func() { p.Answers = map[string]string{"": failure} })
		wantPage(failure, status, words[failure])
	}

	p.Set(func() { p.Answers, p.Groups = nil, []string{"others"} })
	wantPage("no group", 403, `its claim &#34;groups&#34;`)

	for accepted, words := range map[string][]string{
		"":                          {`lang="en"`, "not begun in this browser", "Try again", "Back to the inbox"},
		"de":                        {`lang="en"`, "not begun in this browser"},
		"es-MX, en;q=0.5":           {`lang="es"`, "no empezó en este navegador", "Intentar de nuevo", "Bandeja"},
		"de, ro-RO;q=0.9, en;q=0.8": {`lang="ro"`, "nu a început în acest browser", "Încearcă din nou"},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", b.Base+"/admin/callback?code=x&state=y", nil)
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
	p := apptest.NewProvider(t)
	var redeemed atomic.Int64
	p.Set(func() {
		p.Refusal = func(w http.ResponseWriter, _ *http.Request) {
			redeemed.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		}
	})
	address := apptest.FreeAddress(t)
	apptest.NewSite(t, append(p.Environ(address), "RATE_LIMITS=on")...).Start()

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
