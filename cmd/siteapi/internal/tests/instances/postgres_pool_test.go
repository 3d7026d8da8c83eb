package instances

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest/pgserver"
)

// A role that may open ten connections is enough for a service whose pool has ten: the
// store and the queue share them.
func TestLimitedRole(t *testing.T) {
	t.Parallel()
	address := pgserver.Start(t).NewDatabase(t)
	limited := asRole(t, address, "limited", `CREATE ROLE limited LOGIN CONNECTION LIMIT 10`)
	r := apptest.Launch(t, t.TempDir(), "DATABASE_URL="+limited+"&pool_max_conns=10")

	submitAtOnce(r, 200)
}

// submitAtOnce has many visitors submit a lead at the same time.
func submitAtOnce(r *apptest.Process, visitors int) {
	r.T.Helper()
	var group sync.WaitGroup
	for v := range visitors {
		group.Go(func() {
			if status, response := r.Post("/api/quote/submit", apptest.NewLead(fmt.Sprint("visitor-", v))); status != 200 {
				r.T.Errorf("visitor %d: %d %v", v, status, response)
			}
		})
	}
	group.Wait()
}

// asRole creates a role that may use the database, and returns the database's address for
// that role.
func asRole(t *testing.T, address, role, create string) string {
	t.Helper()
	query(t, address, create)
	query(t, address, `GRANT ALL ON SCHEMA public TO `+role)
	return strings.Replace(address, "siteapi@", role+"@", 1)
}

// Behind PgBouncer in transaction mode the service works with the settings of the manual,
// and does not change the settings of connections that others share.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	address := pgserver.Start(t).NewDatabase(t)
	pooled := asRole(t, address, "pooled", `CREATE ROLE pooled LOGIN`)
	query(t, address, `ALTER ROLE pooled SET statement_timeout = '4s'`)
	query(t, address, `ALTER ROLE pooled SET lock_timeout = '3s'`)
	query(t, address, `ALTER ROLE pooled SET idle_in_transaction_session_timeout = '11s'`)
	settled := startPgBouncer(t, pooled, "ignore_startup_parameters = "+
		"synchronous_commit,statement_timeout,lock_timeout,idle_in_transaction_session_timeout\n")
	ready := settled + "&default_query_exec_mode=exec"

	dir := t.TempDir()
	r := apptest.Launch(t, dir, "DATABASE_URL="+ready)
	submitAtOnce(r, 20)
	apptest.Eventually(t, "all leads are delivered", func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, "cms", "*.json"))
		return len(files) == 20
	})

	var limit string
	query(t, settled, `SELECT current_setting('idle_in_transaction_session_timeout')`, &limit)
	if limit != "11s" {
		t.Errorf("idle_in_transaction_session_timeout of the pool is %s, want 11s", limit)
	}
}

// query runs a statement and reads the first row of its result.
func query(t *testing.T, address, statement string, into ...any) {
	t.Helper()
	c, err := pgx.ParseConfig(address)
	must(t, err)
	c.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol

	conn, err := pgx.ConnectConfig(t.Context(), c)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()

	err = conn.QueryRow(t.Context(), statement).Scan(into...)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatalf("%s: %v", statement, err)
	}
}

// startPgBouncer starts a pool in transaction mode in front of a database until the end
// of the test, and returns the database's address behind it.
func startPgBouncer(t *testing.T, database, settings string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	apptest.SkipWithout(t, err)

	c, err := pgx.ParseConfig(database)
	must(t, err)

	own := apptest.FreeAddress(t)
	_, ownPort, _ := net.SplitHostPort(own)

	// The program does not run as root, so its files must be readable by every user.
	dir, err := os.MkdirTemp("", "pgbouncer-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	config := fmt.Sprintf("[databases]\n%s = host=%s port=%d dbname=%s user=%s\n"+
		"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\n"+
		"auth_type = any\npool_mode = transaction\ndefault_pool_size = 5\n%s",
		c.Database, c.Host, c.Port, c.Database, c.User, ownPort, settings)
	path := filepath.Join(dir, "pgbouncer.ini")
	must(t, errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, []byte(config), 0o644)))

	args := []string{path}
	if os.Getuid() == 0 {
		args = []string{"-u", "nobody", path}
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	apptest.Eventually(t, "PgBouncer listens", func() bool {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", own)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})

	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", c.User, own, c.Database)
}
