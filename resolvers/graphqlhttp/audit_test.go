package graphqlhttp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPublicAudit runs the audit suite of GraphQL over HTTP against the endpoint. It
// needs Node and the packages of schema/clients.
func TestPublicAudit(t *testing.T) {
	t.Parallel()
	clients, err := filepath.Abs("../../schema/clients")
	must(t, err)

	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(clients, "node_modules", "graphql-http"))
	}

	if err != nil {
		if os.Getenv("SITEAPI_TEST_SERVICES") == "required" {
			t.Fatalf("the audit suite is not installed (npm ci in schema/clients): %v", err)
		}
		t.Skipf("the audit suite is not installed: %v", err)
	}

	d := newEndpoint(t, func(s *setup) { s.documents.Introspection = true })
	run := exec.CommandContext(t.Context(), node, "audit/audit.mjs", d.url)
	run.Dir = clients

	out, err := run.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("the audit failed: %v", err)
	}
}
