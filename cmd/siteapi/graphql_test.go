package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const emailQuery = `query Email { SiteSettings(id: "siteSettings") { contactEmail } }`

func hash(document string) string {
	sum := sha256.Sum256([]byte(document))
	return hex.EncodeToString(sum[:])
}

// persisted makes the extensions of a persisted query.
func persisted(h string) string {
	return `{"persistedQuery":{"version":1,"sha256Hash":"` + h + `"}}`
}

func TestGraphQLTrustedOperations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "email.graphql"), []byte(emailQuery), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startService(t, map[string]string{"GRAPHQL_OPERATIONS": "trusted", "GRAPHQL_DOCUMENTS": dir})
	if got := s.query(emailQuery, nil); got.status != 200 || !bytes.Contains(got.body, []byte("lumen-studio")) {
		t.Errorf("a trusted document: %d %s", got.status, got.body)
	}
	if got := s.do(http.MethodGet, "/graphql?extensions="+url.QueryEscape(persisted(hash(emailQuery))),
		""); !bytes.Contains(got.body, []byte("lumen-studio")) {
		t.Errorf("a trusted document by its hash: %d %s", got.status, got.body)
	}
	if got := s.graphQLOutcome(operation{}, s.query(`{ cacheStats { success } }`, nil)); got.code != "QUERY_NOT_IN_SAFELIST" {
		t.Errorf("another document: %s", got.raw)
	}
	if got := s.through("REST", "trackQuote", object{"input": object{"sessionId": "s"}}); got.status != 200 {
		t.Errorf("the service's own operations: %d %s", got.status, got.raw)
	}
	out, code := command(t, []string{"ENVIRONMENT=development", "GRAPHQL_OPERATIONS=trusted"}, "serve")
	if code == 0 || !strings.Contains(out, "GRAPHQL_DOCUMENTS: is required") {
		t.Errorf("without documents: exit code %d, %s", code, out)
	}
	out, code = command(t, []string{"ENVIRONMENT=development", "GRAPHQL_DOCUMENTS=" + filepath.Join(dir, "none")}, "serve")
	if code == 0 || !strings.Contains(out, "GRAPHQL_DOCUMENTS") {
		t.Errorf("with a folder that is not there: exit code %d, %s", code, out)
	}
}

func TestGraphQLInProduction(t *testing.T) {
	t.Parallel()
	env := map[string]string{"ENVIRONMENT": "production", "CACHE_API_TOKEN": "t", "CMS_WEBHOOK_SECRET": "s"}
	s := startService(t, env)
	if got := s.query(`{ __schema { queryType { name } } }`, nil); bytes.Contains(got.body, []byte(`"queryType"`)) {
		t.Errorf("the schema is shown: %s", got.body)
	}
	if got := s.query(`{ cacheStat { success } }`, nil); bytes.Contains(got.body, []byte("Did you mean")) {
		t.Errorf("the schema is shown by suggestions: %s", got.body)
	}
	env["GRAPHQL_INTROSPECTION"] = "on"
	open := startService(t, env)
	if got := open.query(`{ __schema { queryType { name } } }`, nil); !bytes.Contains(got.body, []byte(`"queryType"`)) {
		t.Errorf("with introspection on: %s", got.body)
	}
}
