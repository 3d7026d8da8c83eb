package app

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// What a provider says of a person, and what it repeats of a request, is not in the log.
func TestSignInLogsNoSecrets(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	address := freeAddress(t)
	s := newSite(t, p.environ(address)...).start()
	b := &browser{t: t, base: "http://" + address}

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
		eventually(t, why+" is in the log", func() bool {
			for line := range strings.Lines(s.log.String()) {
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
		p.set(func() { p.refusal = refusal })
		if resp, text := b.signsIn(); resp.StatusCode != 403 || b.cookie != nil {
			t.Errorf("%s: %d %s", why, resp.StatusCode, text)
		}
		isLogged("refused", why)

		// The same when a role is checked.
		p.set(func() { p.refusal = nil })
		if _, text := b.signsIn(); b.cookie == nil {
			t.Fatal(text)
		}
		p.set(func() { p.refusal = refusal })
		s.damage(`UPDATE logins SET check_at = 1`)
		b.want(why, b.reads("/admin/graphql"), "UNAUTHENTICATED")
		isLogged("ended", why)
	}

	// The provider's code at the callback is its own word, too, and so is the subject of an account.
	p.set(func() { p.refusal, p.answers = nil, map[string]string{"": "not ana.pop@corp.example"} })
	b.signsIn()
	isLogged("refused", "the provider says")
	p.set(func() {
		p.answers, p.groups = nil, "desk"
		p.claims = map[string]any{"sub": "ana.pop@corp.example"}
	})
	if _, text := b.signsIn(); b.cookie == nil {
		t.Fatal(text)
	}
	b.roleIs("with an address as subject", `"leads":{`, `"deliveries":{`, "FORBIDDEN")
	eventually(t, "the audit is in the log", func() bool {
		return strings.Contains(s.log.String(), `"actor":"oidc:sha256-5c7989e9"`)
	})
	entries, _ := b.audited()
	if !strings.Contains(strings.Join(entries, "\n"), "oidc:ana.pop@corp.example LISTED") {
		t.Errorf("the audit: %v", entries)
	}

	for _, secret := range []string{"ana.pop", "corp.example", "client-secret", "refresh-secret", "code_verifier"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}
