package main

import (
	"strings"
	"testing"
)

// Errors of an operation bring the headers that their codes promise.
func TestGraphQLErrorsBringTheirHeaders(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	const accept = "Accept: application/graphql-response+json"
	guarded := `{"query":"mutation($i: InvalidateCacheInput!) { invalidateCache(input: $i) { success } ` +
		`}","variables":{"i":{"type":"x"}}}`
	if r := s.do("POST", "/graphql", guarded, accept); r.status != 401 || r.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("without a token: %d, WWW-Authenticate %q: %s", r.status, r.header.Get("WWW-Authenticate"), r.body)
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

// A single value stands for a list of one at both endpoints.
func TestASingleValueStandsForAList(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	const lead = `{"sessionId":"one-feature","contact":{"firstName":"Ana","lastName":"Pop","email":"ana@example.com"},
		"selections":{"projectType":"web-app","features":FEATURES},"estimate":{"min":1,"max":2,"currency":"EUR"}}`
	graphql := func(features string) string {
		return `{"query":"mutation($i: SubmitQuoteInput!) { submitQuote(input: $i) { success } }","variables":{"i":` +
			strings.ReplaceAll(lead, "FEATURES", features) + `}}`
	}
	if r := s.do("POST", "/api/quote/submit", strings.ReplaceAll(lead, "FEATURES", `"blog"`)); r.status != 200 {
		t.Errorf("REST: %d %s", r.status, r.body)
	}
	if r := s.do("POST", "/graphql", graphql(`"blog"`)); !strings.Contains(string(r.body), `"success":true`) {
		t.Errorf("GraphQL: %s", r.body)
	}
	if r := s.do("POST", "/graphql", graphql(`"Not A Slug"`)); !strings.Contains(string(r.body), `"field":"selections.features"`) {
		t.Errorf("an invalid one: %s", r.body)
	}
}
