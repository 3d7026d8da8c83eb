package app

import (
	"strings"
	"testing"
)

// Errors of an operation bring the headers that their codes promise.
func TestGraphQLErrorsBringTheirHeaders(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	const accept = "Accept: application/graphql-response+json"
	guarded := `{"query":"mutation($i: InvalidateCacheInput!) { invalidateCache(input: $i) { success } }",` +
		`"variables":{"i":{"type":"x"}}}`

	if r := s.do("POST", "/graphql", guarded, accept); r.status != 401 ||
		r.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("without a token: %d, WWW-Authenticate %q: %s",
			r.status, r.header.Get("WWW-Authenticate"), r.body)
	}

	limited := startService(t, map[string]string{"RATE_LIMITS": "on"})
	pdf := `{"query":"{ quotePdf(id: \"unknown\") { size } }"}`
	for range 60 {
		r := limited.do("POST", "/graphql", pdf, accept)
		if strings.Contains(string(r.body), "RATE_LIMITED") {
			if r.status != 429 || r.header.Get("Retry-After") == "" {
				t.Errorf("%d, Retry-After %q: %s", r.status, r.header.Get("Retry-After"), r.body)
			}
			return
		}
	}

	t.Error("the rate limit was never reached")
}
