package inbox

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// The scopes are requested that the service has a use for and the provider lists, or those
// of OIDC_SCOPES. None is left out because an attempt failed: a provider that refuses one
// gets the same request from every browser, and the page and the log name the setting.
func TestScopes(t *testing.T) {
	t.Parallel()
	const all = "openid email groups profile offline_access phone"
	for name, c := range map[string]struct {
		lists, refuses string // scopes
		atToken        bool
		setting        string
		want           string // scopes of each request
	}{
		"authentik: groups come with profile": {lists: "openid email profile offline_access",
			want: "openid profile email offline_access"},
		"Dex: groups have their scope":  {lists: all, want: "openid profile email offline_access groups"},
		"Google: no offline_access":     {lists: "openid email profile", want: "openid profile email"},
		"a provider without a list":     {want: "openid profile email"},
		"a list without any of them":    {lists: "openid phone", want: "openid"},
		"other scopes are named":        {lists: all, setting: "roles, openid,api://siteapi/.default", want: "openid roles api://siteapi/.default"},
		"only openid is named":          {lists: all, setting: "openid", want: "openid"},
		"Keycloak: offline_access":      {lists: all, refuses: "offline_access", want: "openid profile email offline_access groups"},
		"at the token endpoint":         {lists: all, refuses: "groups", atToken: true, want: "openid profile email offline_access groups"},
		"a named scope is refused":      {lists: all, setting: "roles,groups", refuses: "groups", want: "openid roles groups"},
		"refused by one without a list": {refuses: "profile", want: "openid profile email"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s, b := startWithAccounts(t, "OIDC_SCOPES="+c.setting)
			p.Set(func() {
				p.Scopes = append(p.Scopes, strings.Fields(c.lists)...) // nil if there is no list
				p.Refuses = strings.Fields(c.refuses)
				p.AtToken, p.Groups = c.atToken, "ops"
			})

			for range 2 {
				p.Set(func() { p.Requests = nil })
				resp, text := b.SignIn()
				if got := p.Requests[0].Get("scope"); len(p.Requests) != 1 || got != c.want {
					t.Errorf("%d requests, the first with the scopes %q, want %q", len(p.Requests), got, c.want)
				}
				switch refused := c.refuses != ""; {
				case refused == (b.Cookie != nil):
					t.Errorf("signed in: %v: %s", b.Cookie != nil, text)
				case refused && (resp.StatusCode != 403 || !strings.Contains(text, "OIDC_SCOPES")):
					t.Errorf("the page does not name the setting: %d %s", resp.StatusCode, text)
				case refused:
					s.Logs("invalid_scope: see OIDC_SCOPES")
				}
			}

			report, _ := s.Doctor(nil)
			report.Reports(t, "sign-in", "OK", "with the scopes "+c.want+": ")
		})
	}
}

// After an account without a role, the provider is asked to let the person choose another
// one, however many attempts that takes.
func TestAnotherAccount(t *testing.T) {
	t.Parallel()
	p, _, b := startWithAccounts(t)
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Transport: apptest.Unpooled, Jar: jar}
	for i, step := range []struct {
		groups string
		status int
		prompt string
	}{
		{"others", 403, ""},
		{"others", 403, "select_account"},
		{"ops", 200, "select_account"},
		{"ops", 200, ""},
	} {
		p.Set(func() { p.Requests, p.Groups = nil, step.groups })
		resp, err := client.Get(b.Base + "/admin/login")
		must(t, err)
		_ = resp.Body.Close()
		if got := p.Requests[0].Get("prompt"); resp.StatusCode != step.status || got != step.prompt {
			t.Errorf("attempt %d: %d with the prompt %q, want %d with %q", i, resp.StatusCode, got, step.status, step.prompt)
		}
	}
}
