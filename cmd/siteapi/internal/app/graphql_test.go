package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const emailQuery = `query Email { SiteSettings(id: "siteSettings") { contactEmail } }`

func TestGraphQLTrustedOperations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "email.graphql"), []byte(emailQuery), 0o600); err != nil {
		t.Fatal(err)
	}

	s := startService(t, map[string]string{"GRAPHQL_OPERATIONS": "trusted", "GRAPHQL_DOCUMENTS": dir})
	if got := s.query(emailQuery, nil); got.status != 200 ||
		!bytes.Contains(got.body, []byte("lumen-studio")) {
		t.Errorf("a trusted document: %d %s", got.status, got.body)
	}

	if got := s.graphQLOutcome(operation{},
		s.query(`{ cacheStats { success } }`, nil)); got.code != "QUERY_NOT_IN_SAFELIST" {
		t.Errorf("another document: %s", got.raw)
	}

	if got := s.through("REST", "trackQuote", object{"input": object{"sessionId": "s"}}); got.status != 200 {
		t.Errorf("the service's own operations: %d %s", got.status, got.raw)
	}
}

func TestGraphQLInProduction(t *testing.T) {
	t.Parallel()
	env := map[string]string{"ENVIRONMENT": "production", "CACHE_API_TOKEN": "t", "CMS_WEBHOOK_SECRET": "s"}
	s := startService(t, env)
	if got := s.query(`{ __schema { queryType { name } } }`, nil); bytes.Contains(
		got.body, []byte(`"queryType"`)) {
		t.Errorf("the schema is shown: %s", got.body)
	}
	if got := s.query(`{ cacheStat { success } }`, nil); bytes.Contains(got.body, []byte("Did you mean")) {
		t.Errorf("the schema is shown by suggestions: %s", got.body)
	}

	s.query(`{ SiteSettings(id: "settings") { contactEmail } }`, nil)
	if strings.Contains(s.log.String(), "SiteSettings has one document") {
		t.Error("production logs hints")
	}

	env["GRAPHQL_INTROSPECTION"] = "on"
	open := startService(t, env)
	if got := open.query(`{ __schema { queryType { name } } }`, nil); !bytes.Contains(
		got.body, []byte(`"queryType"`)) {
		t.Errorf("with introspection on: %s", got.body)
	}
}

// In development a mistake in a query is answered or logged with what may have been meant,
// within bounds.
func TestHintsInDevelopment(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)

	got := s.query(`{ SiteSettings(id: "settings") { contactEmial x } cacheStat { success } }`, nil)
	for _, want := range []string{
		`Cannot query field \"contactEmial\" on type \"SiteSettings\"."`,
		`"suggestion":"Did you mean \"contactEmail\"`,
		`Cannot query field \"x\" on type \"SiteSettings\"."`,
		`Did you mean \"cacheStats\"`,
	} {
		if !bytes.Contains(got.body, []byte(want)) {
			t.Errorf("it does not say %s: %s", want, got.body)
		}
	}

	long := s.query(`{ SiteSettings(id: "s") { contactEmail`+strings.Repeat("l", 60)+` } }`, nil)
	many := s.query(`{ SiteSettings(id: "s") { `+strings.Repeat("contactEmial ", 15)+` } }`, nil)
	if bytes.Contains(long.body, []byte("Did you mean")) ||
		bytes.Count(many.body, []byte("Did you mean")) > 10 {
		t.Errorf("more is looked for than allowed: %s %s", long.body, many.body)
	}

	s.query(`{ SiteSettings(id: "settings") { contactEmail } }`, nil)
	if !strings.Contains(s.log.String(), "SiteSettings has one document") {
		t.Error("a wrong id is not logged with a hint")
	}
}
