package inbox

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// The optional scopes are requested that the provider lists. Those that it then refuses to
// this service are left out at once, and in each later sign-in; the others stay.
func TestScopes(t *testing.T) {
	t.Parallel()
	const all = "openid email groups profile offline_access phone"
	for name, c := range map[string]struct {
		lists, refuses string // scopes
		atToken        bool
		setting        string
		want           string // scopes of the sign-in that succeeds; empty: none does
	}{
		"authentik: groups come with profile": {lists: "openid email profile offline_access",
			want: "openid offline_access profile email"},
		"Dex: groups have their scope":            {lists: all, want: "openid offline_access groups profile email"},
		"Google: no offline_access":               {lists: "openid email profile", want: "openid profile email"},
		"a provider without a list":               {want: "openid"},
		"Keycloak: offline_access is refused":     {lists: all, refuses: "offline_access", want: "openid groups profile email"},
		"Authelia: groups is refused":             {lists: all, refuses: "groups", want: "openid offline_access profile email"},
		"both are refused":                        {lists: all, refuses: "groups offline_access", want: "openid profile email"},
		"both, at the token endpoint":             {lists: all, refuses: "groups offline_access", atToken: true, want: "openid profile email"},
		"groups, at the token endpoint":           {lists: all, refuses: "groups", atToken: true, want: "openid offline_access profile email"},
		"only listed scopes count":                {lists: "groups email", refuses: "groups", want: "openid email"},
		"profile is refused":                      {lists: "profile", refuses: "profile", want: "openid"},
		"everything is refused":                   {lists: "groups", refuses: "openid"},
		"openid is refused by one without a list": {refuses: "openid"},
		"other scopes are named":                  {lists: all, setting: "roles, openid,api://siteapi/.default", want: "openid roles api://siteapi/.default"},
		"a named scope is refused":                {lists: all, setting: "roles,groups", refuses: "groups", want: "openid roles"},
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
				last := p.Requests[len(p.Requests)-1].Get("scope")
				switch {
				case c.want == "" && (resp.StatusCode != 403 || !strings.Contains(text, "did not confirm it")):
					t.Errorf("with everything refused: %d %s", resp.StatusCode, text)
				case c.want != "" && (b.Cookie == nil || last != c.want):
					t.Errorf("signed in: %v, with the scopes %q, want %q: %s", b.Cookie != nil, last, c.want, text)
				}
			}
			if c.want != "" && len(p.Requests) != 1 {
				t.Errorf("the second sign-in took %d requests, the last with %v", len(p.Requests), p.Requests)
			}
			if c.want == "" && !s.Log.Has("invalid_scope: see OIDC_SCOPES") {
				t.Errorf("the log does not explain it: %s", s.Log)
			}
		})
	}
}

// After an account without a role, the provider is asked to let the person choose another
// one, however many attempts that takes. The scopes that it refuses stay left out.
func TestAnotherAccount(t *testing.T) {
	t.Parallel()
	p, _, b := startWithAccounts(t)
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	signIn := func(status int, prompt string, requests int) {
		t.Helper()
		p.Set(func() { p.Requests = nil })
		resp, err := client.Get(b.Base + "/admin/login")
		must(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != status || len(p.Requests) != requests {
			t.Errorf("%d after %d requests, want %d after %d", resp.StatusCode, len(p.Requests), status, requests)
		}
		for _, r := range p.Requests {
			if r.Get("prompt") != prompt {
				t.Errorf("the prompt is %q, want %q", r.Get("prompt"), prompt)
			}
		}
	}

	p.Set(func() { p.Groups = "others" })
	signIn(403, "", 1)
	signIn(403, "select_account", 1)
	p.Set(func() { p.Scopes, p.Refuses = []string{"offline_access"}, []string{"offline_access"} })
	signIn(403, "select_account", 2)
	p.Set(func() { p.Groups = "ops" })
	signIn(200, "select_account", 2)
	signIn(200, "", 1)
}
