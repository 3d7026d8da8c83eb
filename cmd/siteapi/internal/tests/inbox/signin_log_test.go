package inbox

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// What a provider says of a person, and what it repeats of a request, is not in the log.
func TestSignInLogsNoSecrets(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, p.Environ(address)...).Start()
	b := &apptest.Browser{T: t, Base: "http://" + address}

	describes := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_uri":"https://ana.pop@corp.example",`+
			`"error_description":"The user 'ana.pop@corp.example' is not assigned to a role."}`)
	}
	repeats := func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusProxyAuthRequired)
		_, _ = io.WriteString(w, "<html>refused: "+r.Form.Encode())
	}
	noToken := func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"access_token": "a", "id_token": "ana.pop@corp.example.x"})
	}
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
		"answered 400 with the error \\\"invalid_grant\\\"": describes,
		"answered 407":  repeats,
		"malformed jwt": noToken,
	} {
		p.Set(func() { p.Refusal = refusal })
		if resp, text := b.SignsIn(); resp.StatusCode != 403 || b.Cookie != nil {
			t.Errorf("%s: %d %s", why, resp.StatusCode, text)
		}
		isLogged("refused", why)

		// The same when a role is checked.
		p.Set(func() { p.Refusal = nil })
		if _, text := b.SignsIn(); b.Cookie == nil {
			t.Fatal(text)
		}
		p.Set(func() { p.Refusal = refusal })
		s.Damage(`UPDATE logins SET check_at = 1`)
		b.Want(why, reads(b, "/admin/graphql"), "UNAUTHENTICATED")
		isLogged("ended", why)
	}

	// The provider's code at the callback is its own word, too, and so is the subject of an account.
	p.Set(func() { p.Refusal, p.Answers = nil, map[string]string{"": "not ana.pop@corp.example"} })
	b.SignsIn()
	isLogged("refused", "the provider says")
	p.Set(func() {
		p.Answers, p.Groups = nil, "desk"
		p.Claims = map[string]any{"sub": "ana.pop@corp.example"}
	})
	if _, text := b.SignsIn(); b.Cookie == nil {
		t.Fatal(text)
	}
	roleIs(b, "with an address as subject", `"leads":{`, `"deliveries":{`, "FORBIDDEN")
	entries, _ := b.Audited()
	if !strings.Contains(strings.Join(entries, "\n"), "oidc:ana.pop@corp.example LISTED") {
		t.Errorf("the audit: %v", entries)
	}

	for _, secret := range []string{"ana.pop", "corp.example", "client-secret", "refresh-secret", "code_verifier"} {
		if strings.Contains(s.Log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}
