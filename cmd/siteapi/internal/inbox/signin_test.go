package inbox

import (
	"encoding/json"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema"
)

// The page of a refused login has every message in every language.
func TestRefusalPageInEveryLanguage(t *testing.T) {
	t.Parallel()
	words := map[schema.Locale]map[string]string{}
	if err := json.Unmarshal(refusedWords, &words); err != nil {
		t.Fatal(err)
	}
	for _, locale := range schema.Locales() {
		for name := range words[schema.DefaultLocale] {
			if text := words[locale][name]; text == "" || strings.Contains(text, "{{claim}}") != (name == "no_role") {
				t.Errorf("%s, %s: %q", locale, name, text)
			}
		}
	}
}

// Providers list groups in a claim of any name, or deep within one, and name them by
// anything, such as the names of a directory, which have commas.
func TestRoleOfClaims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ claim, roles, token, want string }{
		{"groups", "sales=desk,admin=ops", `{"groups":["desk","others"]}`, "SALES"},
		{"groups", "sales=desk,admin=ops", `{"groups":["ops","desk"]}`, "ADMIN"},
		{"groups", "admin=CN=Ops%2COU=IT%2cDC=firm", `{"groups":"CN=Ops,OU=IT,DC=firm"}`, "ADMIN"},
		{"groups", "admin=CN=Ops%2COU=IT", `{"groups":["CN=Ops","OU=IT"]}`, ""},
		{"groups", "viewer=a%7Cb|50%25|%252C", `{"groups":["%2C"]}`, "VIEWER"},
		{"groups", "viewer=a%7Cb|50%25", `{"groups":["a|b"]}`, "VIEWER"},
		{"groups", "viewer=a%20b", `{"groups":["a b"]}`, ""},
		{"groups", "viewer=a%20b", `{"groups":["a%20b"]}`, "VIEWER"},
		{"groups", "viewer=x|y,admin=y", `{"groups":["y"]}`, "ADMIN"},
		{"https://firm.example/roles", "sales=desk", `{"https://firm.example/roles":["desk"]}`, "SALES"},
		{"realm_access.roles", "sales=desk", `{"realm_access":{"roles":["desk"]}}`, "SALES"},
		{"realm_access.roles", "sales=desk,admin=ops", `{"realm_access":{"roles":["ops"]},"realm_access.roles":["desk"]}`, "SALES"},
		{"resource_access.site.example.roles", "sales=desk", `{"resource_access":{"site.example.roles":"desk"}}`, "SALES"},
		{"realm_access.roles", "sales=desk", `{"realm_access":["desk"]}`, ""},
		{"realm_access.roles", "sales=desk", `{"realm_access":null,"roles":["desk"]}`, ""},
		{"groups", "sales=desk", `{"groups":{"desk":true}}`, ""},
		{"groups", "sales=desk", `{"groups":[1,"desk"]}`, ""},
		{"groups", "sales=desk", `{}`, ""},
	} {
		values := map[string]string{"OIDC_GROUPS_CLAIM": c.claim, "OIDC_ROLES": c.roles}
		settings, err := config.Read(func(name string) string { return values[name] }, "OIDC_*")
		if err != nil {
			t.Fatal(err)
		}
		var claims map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.token), &claims); err != nil {
			t.Fatal(err)
		}

		s := &SignIn{Settings: settings}
		if got := s.roleOf(claimOf(claims, settings.OIDCGroupsClaim)); string(got) != c.want {
			t.Errorf("%s with %s has the role %q, want %q", c.token, c.roles, got, c.want)
		}
	}
}
