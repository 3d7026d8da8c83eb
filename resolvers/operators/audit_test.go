package operators

import (
	"strings"
	"testing"
)

// The log has the subject of no account, and no address, but distinguishes them.
func TestLoggedActor(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, actor := range []string{"oidc:person-1", "oidc:7", "oidc:ana@example.org", "oidc:ana pop", "ana@example.org"} {
		subject := strings.TrimPrefix(actor, "oidc:")
		logged := loggedActor(actor)
		if strings.Contains(strings.TrimPrefix(logged, "oidc:sha256-"), subject) && len(subject) > 1 || !strings.HasPrefix(logged, "oidc:sha256-") {
			t.Errorf("%s is logged as %s", actor, logged)
		}
		seen[logged] = true
	}
	if len(seen) != 4 { // two are the same address
		t.Errorf("logged: %v", seen)
	}
	for _, actor := range []string{"command:root", "crm-script"} {
		if got := loggedActor(actor); got != actor {
			t.Errorf("%s is logged as %s", actor, got)
		}
	}
}
