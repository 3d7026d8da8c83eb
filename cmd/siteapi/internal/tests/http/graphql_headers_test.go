package http

import (
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// Errors of an operation bring the headers that their codes promise.
func TestGraphQLErrorsBringTheirHeaders(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	const accept = "Accept: application/graphql-response+json"
	guarded := `{"query":"mutation($i: InvalidateCacheInput!) { invalidateCache(input: $i) { success } }",` +
		`"variables":{"i":{"type":"x"}}}`

	if r := s.Do("POST", "/graphql", guarded, accept); r.Status != 401 ||
		r.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("without a token: %d, WWW-Authenticate %q: %s",
			r.Status, r.Header.Get("WWW-Authenticate"), r.Body)
	}

	limited := apptest.Start(t, map[string]string{"RATE_LIMITS": "on"})
	pdf := `{"query":"{ quotePdf(id: \"unknown\") { size } }"}`
	for range 60 {
		r := limited.Do("POST", "/graphql", pdf, accept)
		if strings.Contains(string(r.Body), "RATE_LIMITED") {
			if r.Status != 429 || r.Header.Get("Retry-After") == "" {
				t.Errorf("%d, Retry-After %q: %s", r.Status, r.Header.Get("Retry-After"), r.Body)
			}
			return
		}
	}

	t.Error("the rate limit was never reached")
}
