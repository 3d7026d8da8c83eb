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

	if got := s.GraphQLOutcome(apptest.Operation{},
		s.Query(`{ cacheStats { success } }`, nil)); got.Code != "QUERY_NOT_IN_SAFELIST" {
		t.Errorf("another document: %s", got.Raw)
	}

	if got := s.Through("REST", "trackQuote", object{"input": object{"sessionId": "s"}}); got.Status != 200 {
		t.Errorf("the service's own operations: %d %s", got.Status, got.Raw)
	}
}

func TestGraphQLInProduction(t *testing.T) {
	t.Parallel()
	env := map[string]string{"ENVIRONMENT": "production", "CACHE_API_TOKEN": "t", "CMS_WEBHOOK_SECRET": "s"}
	s := apptest.Start(t, env)
	if got := s.Query(`{ __schema { queryType { name } } }`, nil); bytes.Contains(
		got.Body, []byte(`"queryType"`)) {
		t.Errorf("the schema is shown: %s", got.Body)
	}
	if got := s.Query(`{ cacheStat { success } }`, nil); bytes.Contains(got.Body, []byte("Did you mean")) {
		t.Errorf("the schema is shown by suggestions: %s", got.Body)
	}

	s.Query(`{ SiteSettings(id: "settings") { contactEmail } }`, nil)
	if strings.Contains(s.Log.String(), "SiteSettings has one document") {
		t.Error("production logs hints")
	}

	env["GRAPHQL_INTROSPECTION"] = "on"
	open := apptest.Start(t, env)
	if got := open.Query(`{ __schema { queryType { name } } }`, nil); !bytes.Contains(
		got.Body, []byte(`"queryType"`)) {
		t.Errorf("with introspection on: %s", got.Body)
	}
}

// A mistake is answered without a look at the other names of the schema, which is hidden and
// takes time; in development a wrong id is logged with the right one.
func TestHintsInDevelopment(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)

	got := s.Query(`{ SiteSettings(id: "settings") { contactEmial } cacheStat { success } }`, nil)
	if !bytes.Contains(got.Body, []byte(`Cannot query field \"contactEmial\" on type \"SiteSettings\"."`)) ||
		bytes.Contains(got.Body, []byte("Did you mean")) {
		t.Errorf("got %s", got.Body)
	}

	s.Query(`{ SiteSettings(id: "settings") { contactEmail } }`, nil)
	if !strings.Contains(s.Log.String(), "SiteSettings has one document") {
		t.Error("a wrong id is not logged with a hint")
	}
}
