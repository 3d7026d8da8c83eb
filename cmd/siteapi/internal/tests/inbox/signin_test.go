package inbox

import (
	"encoding/json"
	"fmt"
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

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/schema"
)

// startWithAccounts starts a service whose operators have accounts at a provider, and
// returns a browser at its inbox.
func startWithAccounts(t *testing.T, env ...string) (*apptest.Provider, *apptest.Site, *apptest.Browser) {
	t.Helper()
	p, address := apptest.NewProvider(t), apptest.FreeAddress(t)
	s := apptest.NewSite(t, append(p.Env(address), env...)...).Start()
	return p, s, apptest.NewBrowser(t, address)
}

// signIn signs in with an account of the given groups.
func signIn(b *apptest.Browser, p *apptest.Provider, groups any) {
	b.T.Helper()
	p.Set(func() { p.Groups = groups })
	if _, text := b.SignIn(); b.Cookie == nil {
		b.T.Fatalf("signing in: %s", text)
	}
}

// logLacks checks that no secret is in the log.
func logLacks(s *apptest.Site, secrets ...string) {
	s.T.Helper()
	for _, secret := range secrets {
		if s.Log.Has(secret) {
			s.T.Errorf("%q is in the log", secret)
		}
	}
}

// checkIsDue changes the provider, and makes the roles of all logins due to be checked.
func checkIsDue(s *apptest.Site, p *apptest.Provider, change func()) {
	s.T.Helper()
	p.Set(change)
	s.Damage(`UPDATE logins SET check_at = 1`)
}

// wantRole checks the role that the inbox reports for this browser.
func wantRole(b *apptest.Browser, role string) {
	b.T.Helper()
	if _, who := b.Send("GET", "/admin/operator", ""); who["role"] != role {
		b.T.Errorf("the role is %v, want %s", who, role)
	}
}

// Operators sign in with their accounts and have the highest role of their groups, even
// after a restart.
func TestSignIn(t *testing.T) {
	t.Parallel()
	p, s, b := startWithAccounts(t)
	for role, groups := range map[string]any{
		"VIEWER": "marketing",
		"SALES":  []string{"marketing", "desk", "others"},
		"ADMIN":  []string{"ops", "marketing"},
	} {
		signIn(b, p, groups)
		wantRole(b, role)
	}

	s.End(9)
	s.Start()
	inboxAnswers(b, "after a restart", "")
	wantStatus(b, 204, "DELETE", "/admin/login", "")
	inboxAnswers(b, "after logging out", "UNAUTHENTICATED")
	logLacks(s, "client-secret", "refresh-secret", b.Cookie.Value)

	c, _ := s.Doctor(nil)
	c.Reports(t, "sign-in", "OK", p.URL+"/auth")
	c, _ = s.Doctor([]string{"OIDC_ISSUER=" + p.URL + "/"})
	c.Reports(t, "sign-in", "FAILED", "did not match")
	c, _ = s.Doctor([]string{"OIDC_REDIRECT_URL=" + s.Base + "/admin/callback"}) // ADMIN_PAGE is off
	c.Reports(t, "sign-in", "WARNING", "status 404")
	s.End(9)
	c, _ = s.Doctor(nil)
	c.Reports(t, "sign-in", "WARNING", "nobody can sign in")
}

// A rejected sign-in ends at a page that explains the reason and offers to try again. The
// log has the cause.
func TestRejectedSignIn(t *testing.T) {
	t.Parallel()
	p, s, b := startWithAccounts(t)
	claims := func(name string, value any) func() { return func() { p.Claims = object{name: value} } }
	fails := func(failure string) func() { return func() { p.Failure = failure } }
	for cause, c := range map[string]struct {
		change func()
		status int
		words  string
	}{
		"502":                      {func() { p.FailStatus = 502 }, 503, "not possible at the moment"},
		"issued by a different":    {claims("iss", "https://evil.example"), 403, "did not confirm it"},
		"expected audience":        {claims("aud", "another"), 403, "did not confirm it"},
		"the nonce does not match": {claims("nonce", "another"), 403, "did not confirm it"},
		"token is expired":         {claims("exp", time.Now().Add(-time.Hour).Unix()), 403, "did not confirm it"},
		"no subject":               {claims("sub", ""), 403, "did not confirm it"},
		"No group of the account":  {claims("groups", []string{"others"}), 403, `its claim &#34;groups&#34;`},
		"access_denied":            {fails("access_denied"), 403, "was canceled"},
		"script":                   {fails("<script>alert(1)</script>"), 403, "was canceled"},
		"temporarily_unavailable":  {fails("temporarily_unavailable"), 503, "not possible at the moment"},
	} {
		p.Set(c.change)
		resp, text := b.SignIn()
		if resp.StatusCode != c.status || b.Cookie != nil || !strings.Contains(text, c.words) ||
			!strings.Contains(text, `<a href="/admin/login?place=">Try again</a>`) ||
			resp.Header.Get("Content-Type") != "text/html; charset=utf-8" || resp.Header.Get("Cache-Control") != "no-store" ||
			!strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'nonce-") {
			t.Errorf("%s: %d %v %s", cause, resp.StatusCode, resp.Header, text)
		}
		s.Logs(cause)
		p.Set(func() { p.FailStatus, p.Claims, p.Failure = 0, nil, "" })
	}
	p.Rotate("second")
	signIn(b, p, "ops")

	for accepted, words := range map[string]string{"de": "Try again", "es-MX, en;q=0.5": "Intentar de nuevo", "ro": "Încearcă din nou"} {
		got := (&apptest.Client{T: t, Base: b.Base}).Do("GET", "/admin/callback", "", "Accept-Language: "+accepted)
		if !got.Is(403, words) {
			t.Errorf("in %s: %s", accepted, got)
		}
	}
}

// visit requests an address without following redirects. Its X-Forwarded-Host names
// another host.
func visit(t *testing.T, address string, cookies ...*http.Cookie) *http.Response {
	t.Helper()
	headers := []string{"X-Forwarded-Host: evil.example"}
	for _, c := range cookies {
		headers = append(headers, "Cookie: "+c.Name+"="+c.Value)
	}
	resp, err := apptest.Send(t.Context(), apptest.NoRedirects, "GET", address, "", headers...)
	must(t, err)
	_ = resp.Body.Close()
	return resp
}

// A sign-in can be completed only in the browser that began it. A code works once, and
// redirects go only to addresses from the settings.
func TestSignInInOneBrowser(t *testing.T) {
	t.Parallel()
	_, _, b := startWithAccounts(t)
	begun := visit(t, b.Base+"/admin/login?place=https://evil.example")
	cookie := begun.Cookies()[0]
	to, _ := url.Parse(begun.Header.Get("Location"))
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || strings.Contains(to.String(), "evil") ||
		to.Query().Get("redirect_uri") != b.Base+"/admin/callback" {
		t.Errorf("the cookie is %v, the redirect goes to %s", cookie, to)
	}

	back := visit(t, to.String()).Header.Get("Location")
	for _, c := range []struct {
		cookies []*http.Cookie
		status  int
	}{
		{nil, 403}, // another browser
		{visit(t, b.Base+"/admin/login").Cookies(), 403},
		{begun.Cookies(), 303},
		{begun.Cookies(), 403}, // the second time
	} {
		resp := visit(t, back, c.cookies...)
		if resp.StatusCode != c.status || c.status == 303 && resp.Header.Get("Location") != "/admin" {
			t.Errorf("with %v: %d %v, want %d", c.cookies, resp.StatusCode, resp.Header, c.status)
		}
	}
}

// Each tab has its own attempt, and returns to the place at which it began. One that
// finishes while another has logged the browser in keeps that login, without asking the
// provider.
func TestSignInInSeveralTabs(t *testing.T) {
	t.Parallel()
	p, s, b := startWithAccounts(t)
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Transport: apptest.Unpooled, Jar: jar, CheckRedirect: apptest.NoRedirects.CheckRedirect}
	open := func(address string) string {
		t.Helper()
		resp, err := client.Get(address)
		must(t, err)
		_ = resp.Body.Close()
		return resp.Header.Get("Location")
	}
	places := []string{
		"#leads?lead=AB12", "", "#funnel", "https://evil.example", "//evil.example", "/admin", "#" + strings.Repeat("a", 512),
		"#search=țară&x=1;2", "#a\r\nb", "#9",
	}
	var callbacks []string
	for _, place := range places {
		callbacks = append(callbacks, open(open(b.Base+"/admin/login?place="+url.QueryEscape(place))))
	}

	for i, place := range places {
		if !strings.HasPrefix(place, "#") || len(place) > 512 {
			place = ""
		}
		want := "/admin" + strings.NewReplacer("\r", " ", "\n", " ").Replace(place)
		if i == len(places)-1 {
			p.Set(func() { p.FailStatus = 502 }) // it is not asked
		}
		if got, _ := url.QueryUnescape(open(callbacks[i])); got != want {
			t.Errorf("the tab at %q returns to %q, want %q", places[i], got, want)
		}
	}
	var logins []schema.Login
	if s.JSON(&logins, "logins", "list"); len(logins) != 1 {
		t.Errorf("the tabs began %d logins", len(logins))
	}
	if got := open(b.Base + "/admin/callback?code=x&state=y"); got != "/admin" {
		t.Errorf("an old address of a callback leads to %q", got)
	}
}

// A logout also leads to the provider's, if it has one, with a proof of whose session ends.
// It succeeds while the provider is down.
func TestLogoutAtTheProvider(t *testing.T) {
	t.Parallel()
	p, s, b := startWithAccounts(t)
	for name, c := range map[string]struct {
		change func()
		want   string
	}{
		"no address":     {func() {}, ""},
		"an address":     {func() { p.Logout = "https://id.example/end?realm=firm" }, "https://id.example/end?client_id=siteapi&id_token_hint=ey"},
		"down":           {func() { p.FailStatus = 502 }, ""},
		"a wrong answer": {func() { p.Logout = "https://id.example/%zz" }, ""},
	} {
		signIn(b, p, "ops")
		p.Set(c.change)
		resp, response := b.Send("DELETE", "/admin/login", "")
		next := fmt.Sprint(response["next"])
		if resp.StatusCode/100 != 2 || (c.want == "") != (resp.StatusCode == 204) || c.want != "" && !strings.HasPrefix(next, c.want) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, next)
		}
		p.Set(func() { p.Logout, p.FailStatus = "", 0 })
		inboxAnswers(b, name, "UNAUTHENTICATED")
		logLacks(s, "id_token_hint")
	}
}

// After 15 minutes the role is checked with the provider, once for all waiting requests.
// If the account has no group left, the login ends.
func TestSignInRenews(t *testing.T) {
	t.Parallel()
	p, s, b := startWithAccounts(t)
	signIn(b, p, "ops")
	later := func(change func()) { checkIsDue(s, p, change) }

	for _, outage := range []int{502, 429} {
		later(func() { p.FailStatus = outage })
		inboxAnswers(b, "the provider is down", "UPSTREAM_UNAVAILABLE")
		inboxAnswers(b, "it is still down", "UPSTREAM_UNAVAILABLE")
	}
	later(func() { p.FailStatus, p.Groups, p.Refreshed = 0, []string{"marketing"}, 0 })
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() { wantRole(b, "VIEWER") })
	}
	group.Wait()
	if p.Set(func() {}); p.Refreshed != 1 {
		t.Errorf("the role was checked %d times", p.Refreshed)
	}

	later(func() { p.Groups = []string{} })
	inboxAnswers(b, "without a role", "UNAUTHENTICATED")
	p.Set(func() { p.Groups = "ops" })
	inboxAnswers(b, "the login has ended", "UNAUTHENTICATED")

	p.Set(func() { p.NoRefresh = true })
	signIn(b, p, "ops")
	inboxAnswers(b, "without a refresh token", "")
	later(func() {})
	inboxAnswers(b, "when the check is due", "UNAUTHENTICATED")
}

// Admins list the logins, and end those of other operators with immediate effect.
func TestLogins(t *testing.T) {
	t.Parallel()
	p, s, b := startWithAccounts(t)
	p.Set(func() { p.Claims = object{"sub": "of-sales"} })
	sales := apptest.NewBrowser(t, b.Base)
	signIn(sales, p, "sales")
	p.Set(func() { p.Claims = object{"sub": "of-ops"} })
	signIn(b, p, "ops")

	var list []schema.Login
	_, response := b.Send("POST", "/admin/graphql", `{"query":"{ row: logins { id actor role startedAt checkAt expiresAt } }"}`)
	text, _ := json.Marshal(response["data"].(object)["row"])
	if err := json.Unmarshal(text, &list); err != nil || len(list) != 2 || list[0].Actor != "oidc:of-ops" ||
		list[0].Role != "ADMIN" || list[1].Actor != "oidc:of-sales" || !list[1].CheckAt.After(list[1].StartedAt) ||
		!list[1].ExpiresAt.After(list[1].CheckAt) {
		t.Fatalf("the logins: %s", text)
	}
	inboxAnswers(withCookie(sales, list[1].ID), "the id as a cookie", "UNAUTHENTICATED")

	end := `{"query":"mutation { endLogins(ids: [\"` + list[1].ID + `\"]) { logins { id } } }"}`
	for _, want := range []string{"endLogins:map[logins:[map[id:" + list[1].ID, "NOT_FOUND"} {
		if _, response := b.Send("POST", "/admin/graphql", end); !strings.Contains(fmt.Sprint(response), want) {
			t.Errorf("ending a login: %v, want %s", response, want)
		}
		inboxAnswers(sales, "after it was ended", "UNAUTHENTICATED")
	}
	s.Prints("logins end "+list[0].ID, list[0].ID)
	entries, details := b.AuditEntries()
	if len(entries) != 2 || entries[0] != "oidc:of-ops LOGIN_ENDED -" || !strings.HasPrefix(entries[1], "command:") ||
		fmt.Sprint(details[0].Detail) != "map[login:"+list[1].ID+" of:oidc:of-sales]" {
		t.Errorf("the audit: %v", entries)
	}
}

// The log contains neither personal data from the provider, nor parts of a request that
// the provider repeats.
func TestSignInLogsNoSecrets(t *testing.T) {
	t.Parallel()
	p, s, b := startWithAccounts(t)
	isLogged := func(outcome, why string) {
		t.Helper()
		apptest.Eventually(t, why+" is in the log", func() bool {
			for line := range strings.Lines(s.Log.String()) {
				if strings.Contains(line, `"outcome":"`+outcome+`"`) && strings.Contains(line, why) {
					return true
				}
			}
			return false
		})
	}

	for why, refusal := range map[string]http.HandlerFunc{
		`returned the status 400 with the error \"invalid_grant\"`: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"The user 'ana.pop@corp.example' has no role."}`)
		},
		"returned the status 407": func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			w.WriteHeader(407)
			_, _ = io.WriteString(w, "<html>refused: "+r.Form.Encode())
		},
		"malformed jwt": func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(object{"access_token": "a", "id_token": "ana.pop@corp.example.x"})
		},
	} {
		p.Set(func() { p.Refusal = refusal })
		if resp, text := b.SignIn(); resp.StatusCode != 403 || b.Cookie != nil {
			t.Errorf("%s: %d %s", why, resp.StatusCode, text)
		}
		isLogged("refused", why)

		p.Set(func() { p.Refusal = nil })
		signIn(b, p, "ops")
		checkIsDue(s, p, func() { p.Refusal = refusal })
		inboxAnswers(b, why, "UNAUTHENTICATED")
		isLogged("ended", why)
	}

	// The error code at the callback and the subject come from the provider, too.
	p.Set(func() { p.Refusal, p.Failure = nil, "not ana.pop@corp.example" })
	b.SignIn()
	isLogged("refused", "the provider returned the error")
	p.Set(func() { p.Failure, p.Claims = "", object{"sub": "ana.pop@corp.example"} })
	signIn(b, p, "desk")
	inboxAnswers(b, "an address as subject", "")
	logLacks(s, "ana.pop", "corp.example", "client-secret", "refresh-secret", "code_verifier")
}

// While the provider hangs, at most 16 logins wait for it, and other requests are
// answered.
func TestSignInWhileTheProviderHangs(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		<-r.Context().Done()
	}))
	t.Cleanup(hanging.Close)
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, (&apptest.Provider{Server: hanging}).Env(address)...).Start()

	const logins, fit = 40, 16
	var all sync.WaitGroup
	for range logins {
		all.Go(func() {
			if resp := visit(t, "http://"+address+"/admin/login"); resp.StatusCode != 503 {
				t.Errorf("a login has status %d", resp.StatusCode)
			}
		})
	}
	apptest.Eventually(t, "the provider is called", func() bool { return calls.Load() == fit })
	if got := s.Do("GET", "/api/cache/clear", ""); got.Status != 200 {
		t.Errorf("during the logins another request has status %d", got.Status)
	}
	all.Wait()
	if n := calls.Load(); n != fit {
		t.Errorf("%d logins called the provider %d times", logins, n)
	}
}

// A client can begin and finish ten logins in a quarter of an hour, and each invented
// code costs the provider one request.
func TestSignInIsLimited(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	var redeemed atomic.Int64
	p.Set(func() {
		p.Refusal = func(w http.ResponseWriter, _ *http.Request) {
			redeemed.Add(1)
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		}
	})
	address := apptest.FreeAddress(t)
	apptest.NewSite(t, append(p.Env(address), "RATE_LIMITS=on")...).Start()

	base := "http://" + address
	browser := &apptest.Client{T: t, Base: base}
	for range 20 { // images and frames in a page of another site don't use up the attempts
		for _, path := range []string{"/admin/login", "/admin/callback?x=1", "/admin/assistant"} {
			if got := browser.Do("GET", path, "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image"); got.Status != 403 {
				t.Fatalf("an image of %s: %s", path, got)
			}
		}
	}
	for i := range 12 {
		began := visit(t, base+"/admin/login")
		if limited := began.StatusCode == 429; limited != (i >= 10) {
			t.Fatalf("login %d: %d", i+1, began.StatusCode)
		}
		if i >= 10 {
			continue
		}
		at, err := began.Location()
		must(t, err)
		ended := visit(t, base+"/admin/callback?code=invented&state="+at.Query().Get("state"), began.Cookies()...)
		if ended.StatusCode != 403 {
			t.Errorf("an invented code: %d", ended.StatusCode)
		}
	}
	if got := visit(t, base+"/admin/callback?code=x&state=y"); got.StatusCode != 429 {
		t.Errorf("the eleventh callback: %d", got.StatusCode)
	}
	for _, path := range []string{"/admin/login", "/admin/callback"} {
		got := browser.Do("GET", path, "", "Sec-Fetch-Dest: document", "Accept-Language: es")
		if !got.Is(429, "Hubo demasiados intentos") || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") ||
			got.Header.Get("Retry-After") == "" {
			t.Errorf("the page of %s: %v %s", path, got.Header, got)
		}
	}
	if n := redeemed.Load(); n != 10 {
		t.Errorf("10 invented codes caused %d requests for a token", n)
	}
}
