package http

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

const emailQuery = `query Email { SiteSettings(id: "siteSettings") { contactEmail } }`

func TestGraphQLTrustedOperations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "email.graphql"), []byte(emailQuery), 0o600); err != nil {
		t.Fatal(err)
	}

	s := apptest.Start(t, map[string]string{"GRAPHQL_OPERATIONS": "trusted", "GRAPHQL_DOCUMENTS": dir})
	if got := s.Query(emailQuery, nil); got.Status != 200 ||
		!bytes.Contains(got.Body, []byte("lumen-studio")) {
		t.Errorf("a trusted document: %d %s", got.Status, got.Body)
	}

	if got := s.GraphQLOutcome(
		s.Query(`{ cacheStats { success } }`, nil)); got.Code != "QUERY_NOT_IN_SAFELIST" {
		t.Errorf("another document: %s", got.Raw)
	}

	if got := s.Through("REST", "trackQuote", object{"input": object{"sessionId": "s"}}); got.Status != 200 {
		t.Errorf("the service's own operations: %d %s", got.Status, got.Raw)
	}
}

// Introspection is off in production by default. In development a wrong id is logged
// with the right one.
func TestHintsInDevelopment(t *testing.T) {
	t.Parallel()
	const schema, wrongID = `{ __schema { queryType { name } } }`, `{ SiteSettings(id: "settings") { contactEmail } }`
	env := map[string]string{"ENVIRONMENT": "production", "CACHE_API_TOKEN": "t", "CMS_WEBHOOK_SECRET": "s"}
	closed, open := apptest.Start(t, env), apptest.Start(t, nil)

	for s, shown := range map[*apptest.Service]bool{closed: false, open: true} {
		if got := s.Query(schema, nil); bytes.Contains(got.Body, []byte(`"queryType"`)) != shown {
			t.Errorf("the schema: %s", got.Body)
		}
		if s.Query(wrongID, nil); strings.Contains(s.Log.String(), "unknown id of SiteSettings") != shown {
			t.Errorf("the log after a wrong id: %s", s.Log.String())
		}
		// The error does not suggest other names of the schema.
		got := s.Query(`{ SiteSettings(id: "settings") { contactEmial } cacheStat { success } }`, nil)
		if !bytes.Contains(got.Body, []byte(`Cannot query field \"contactEmial\" on type \"SiteSettings\"."`)) ||
			bytes.Contains(got.Body, []byte("Did you mean")) {
			t.Errorf("got %s", got.Body)
		}
	}
}
