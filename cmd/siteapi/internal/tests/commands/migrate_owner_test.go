package commands

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest/pgserver"
)

// TestMigrateAsAnotherOwner creates the tables as their owner and runs the service as a
// role that may only read and write rows.
func TestMigrateAsAnotherOwner(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t)
	admin := pg.NewDatabase(t)
	conn, err := pgx.Connect(t.Context(), admin)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()

	sql := func(statement string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}

	as := func(role string) string {
		u, err := url.Parse(admin)
		must(t, err)
		u.User = url.User(role)
		return "DATABASE_URL=" + u.String()
	}

	sql(`CREATE ROLE tables LOGIN`)
	sql(`CREATE ROLE service LOGIN`)
	sql(`REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
	sql(`GRANT CREATE, USAGE ON SCHEMA public TO tables`)

	if out, code := apptest.Command(t, []string{"ENVIRONMENT=development", as("tables")}, "migrate"); code != 0 ||
		!strings.Contains(out, "up to date") {
		t.Fatalf("migrate as the owner: exit code %d: %s", code, out)
	}
	sql(`GRANT USAGE ON SCHEMA public TO service`)
	sql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO service`)
	sql(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO service`)

	dir := t.TempDir()
	first := apptest.Launch(t, dir, as("service"))
	first.Submit("owner")

	s := &apptest.Client{T: t, DataDir: dir}
	apptest.Eventually(t, "the lead is delivered", func() bool {
		return len(s.Files("cms")) == 1 && len(s.Files("crm")) == 1
	})

	out, code := apptest.Command(t, []string{"ENVIRONMENT=development", as("service")},
		"deliveries", "list", "--state", "all")
	if code != 0 {
		t.Errorf("a command as the service's role: %d %s", code, out)
	}
}
