package instances

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest/pgserver"
)

// reading is what a service without a writable database still does.
const reading = `{ content(documentType: "heroSection") { id } }`

// withoutDatabase fails unless the service serves content and refuses leads for now.
func withoutDatabase(r *apptest.Process) {
	r.T.Helper()
	if got := r.Query(reading); !strings.Contains(got, "heroSection-en") {
		r.T.Errorf("content: %s", got)
	}
	body := apptest.ValidLead("refused")
	if status, response := r.Post("/api/quote/submit", body); status != 503 || response["code"] != "UPSTREAM_UNAVAILABLE" {
		r.T.Errorf("a submission: %d %v", status, response)
	}
	if got := r.Do("GET", "/readyz", ""); got.Status != 503 || !got.Has(`"database":{"status":"unavailable"`) {
		r.T.Errorf("/readyz: %s", got)
	}
}

// recovers waits until a lead is stored.
func recovers(r *apptest.Process, session string) {
	r.T.Helper()
	apptest.Eventually(r.T, "leads are accepted", func() bool {
		status, _ := r.Post("/api/quote/submit", apptest.ValidLead(session))
		return status == 200
	})
}

// What only a person can mend ends a start with its reason.
func TestRefusedStart(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	database := server.NewDatabase(t)
	for i, encoding := range []string{"LATIN1", "EUC_JP", "SQL_ASCII", "WIN1252"} {
		query(t, database, fmt.Sprintf("CREATE DATABASE other%d ENCODING '%s' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0", i, encoding))
	}
	other := server.NewDatabase(t)
	query(t, other, `CREATE TABLE store_migrations (version bigint PRIMARY KEY, name text NOT NULL, checksum text)`)
	query(t, other, `INSERT INTO store_migrations VALUES (1, '0001_other.sql', '')`)
	requirePassword(t, database)

	file := func(data string) string {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "siteapi.db"), []byte(data), 0o600))
		return "DATA_DIR=" + dir
	}
	for setting, reason := range map[string]string{
		"DATABASE_URL=" + server.URL("nosuch"):                                  `database "nosuch" does not exist`,
		"DATABASE_URL=" + server.URL("other0"):                                  "has the encoding LATIN1: create one with UTF8",
		"DATABASE_URL=" + server.URL("other1"):                                  "has the encoding EUC_JP",
		"DATABASE_URL=" + server.URL("other2"):                                  "has the encoding SQL_ASCII",
		"DATABASE_URL=" + server.URL("other3"):                                  "has the encoding WIN1252",
		"DATABASE_URL=" + strings.Replace(database, "siteapi@", "nobody@", 1):   `role "nobody" does not exist`,
		"DATABASE_URL=" + strings.Replace(database, "siteapi@", "pw:wrong@", 1): "password authentication failed",
		"DATABASE_URL=" + other:                                                 "a different, unreleased version",
		file(strings.Repeat("not a database ", 100)):                            "file is not a database",
	} {
		out, code := apptest.Command(t, []string{"ENVIRONMENT=development", setting}, "serve")
		if code != 1 || !strings.Contains(out, reason) || strings.Contains(out, "wrong") {
			t.Errorf("%s: exit code %d, want %q: %s", setting, code, reason, out)
		}
	}
}

// requirePassword creates a role pw, which needs its password. Others need none.
func requirePassword(t *testing.T, database string) {
	t.Helper()
	var path string
	query(t, database, `CREATE ROLE pw LOGIN PASSWORD 'right'`)
	query(t, database, `GRANT ALL ON SCHEMA public TO pw`)
	query(t, database, `SHOW hba_file`, &path)
	query(t, database, `COPY (VALUES ('host all pw 127.0.0.1/32 scram-sha-256'), ('host all all 127.0.0.1/32 trust')) TO '`+path+`'`)
	query(t, database, `SELECT pg_reload_conf()`, new(bool))
}

// A service whose database is away serves content, and connects later. It logs one line
// for each kind of failure, also for one that would have ended the start.
func TestStartWithoutDatabase(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	database := server.NewDatabase(t)
	requirePassword(t, database)
	server.Stop(t)

	r := apptest.Launch(t, t.TempDir(), "DATABASE_URL="+strings.Replace(database, "siteapi@", "pw:changed@", 1))
	withoutDatabase(r)
	server.Start(t)
	apptest.Eventually(t, "the refusal is logged", func() bool { return r.Log.Has("password authentication failed") })
	withoutDatabase(r)

	query(t, database, `ALTER ROLE pw PASSWORD 'changed'`)
	recovers(r, "first")
	r.Logs("database available: leads are accepted and delivered")
	if n := strings.Count(r.Log.String(), `"message":"no database`); n != 2 || r.Log.Has("cannot store") {
		t.Errorf("it logs %d lines: %s", n, r.Log.String())
	}
	apptest.Eventually(t, "the lead is delivered", func() bool { return len(r.Files("cms")) == 1 })
	if err := r.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// A service that has waited for its database in vain stops as any other.
func TestStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), "DATABASE_URL=postgres://127.0.0.1:1/x?connect_timeout=1")
	withoutDatabase(r)
	if err := r.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// On a full disk, a service that was killed or stopped starts, reads, and refuses leads
// until there is space again.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	apptest.SkipWithout(t, run("mount", "-t", "tmpfs", "-o", "size=100m", "siteapi-test", dir))
	t.Cleanup(func() { must(t, run("umount", "-l", dir)) })

	r := apptest.Launch(t, dir)
	id := r.Submit("before")
	spare := filepath.Join(dir, "spare")
	apptest.Eventually(t, "there is a spare file, and the lead is delivered", func() bool {
		_, err := os.Stat(spare)
		return err == nil && len(r.Files("crm")) == 1
	})
	ballast := filepath.Join(dir, "ballast")
	fill := func() { _ = run("dd", "if=/dev/zero", "of="+ballast, "bs=1k", "oflag=append", "conv=notrunc") }

	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		fill()
		_ = r.End(signal) // it may fail to write on the full disk
		fill()

		r = apptest.Launch(t, dir)
		if got := r.Query(reading); !strings.Contains(got, "heroSection-en") {
			t.Errorf("content after %v: %s", signal, got)
		}
		apptest.Eventually(t, "the PDF of a lead is served", func() bool {
			return r.Do("GET", "/api/quote/pdf?id="+id, "").Status == 200
		})
		if status, response := r.Post("/api/quote/submit", apptest.ValidLead("full")); status == 200 {
			// What the spare file left is used up by a few leads.
			for n := 0; status == 200 && n < 10_000; n++ {
				status, response = r.Post("/api/quote/submit", apptest.ValidLead(fmt.Sprint("full-", n)))
			}
			if status != 503 {
				t.Errorf("a submission on a full disk: %d %v", status, response)
			}
		}
	}

	must(t, os.Remove(ballast))
	recovers(r, "after")
	must(t, r.End(syscall.SIGTERM))
	r = apptest.Launch(t, dir)
	apptest.Eventually(t, "there is a spare file again", func() bool {
		_, err := os.Stat(spare)
		return err == nil
	})
}

// run runs a system program.
func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// A reader of the log that stops reading or ends delays nothing and ends nothing, and the
// lines that it misses are counted.
func TestUnreadLog(t *testing.T) {
	t.Parallel()
	address, admin := apptest.FreeAddress(t), apptest.FreeAddress(t)
	reader, writer, err := os.Pipe()
	must(t, err)

	cmd := exec.CommandContext(t.Context(), apptest.Binary)
	cmd.Env = []string{
		"ENVIRONMENT=development", "LOG_FORMAT=json", "LOG_LEVEL=debug", "RATE_LIMITS=off",
		"DATA_DIR=" + t.TempDir(), "LISTEN_ADDR=" + address, "ADMIN_ADDR=" + admin,
	}
	cmd.Stdout, cmd.Stderr = writer, writer
	must(t, errors.Join(cmd.Start(), writer.Close()))
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	r := &apptest.Process{Client: apptest.Client{T: t, Base: "http://" + address}, Cmd: cmd}
	apptest.Eventually(t, "it is ready", func() bool {
		resp, err := apptest.HTTP.Get(r.Base + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})

	dropped := func() bool {
		resp, err := apptest.HTTP.Get("http://" + admin + "/metrics")
		must(t, err)
		defer resp.Body.Close()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if value, found := strings.CutPrefix(lines.Text(), "siteapi_log_dropped_total "); found {
				return value != "0"
			}
		}
		return false
	}
	for n := 0; !dropped(); n += 500 {
		for i := range 500 {
			r.Do("GET", fmt.Sprint("/healthz?n=", n+i), "")
		}
	}
	r.Submit("unread")

	// Without a reader each write fails.
	must(t, reader.Close())
	for i := range 50 {
		r.Submit(fmt.Sprint("gone-", i))
	}
	began := time.Now()
	if err := r.End(syscall.SIGTERM); err != nil || time.Since(began) > time.Minute {
		t.Errorf("stopping: %v after %v", err, time.Since(began))
	}
}

// A service stops by SIGHUP as by SIGTERM, unless that was ignored at its start.
func TestHangUp(t *testing.T) {
	t.Parallel()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // else the service ignores it if these tests run with nohup
	r := apptest.Launch(t, t.TempDir())
	if err := r.End(syscall.SIGHUP); err != nil {
		t.Errorf("stopping: %v", err)
	}
	apptest.Eventually(t, "the last lines are written", func() bool { return r.Log.Has(`"message":"stopped"`) })

	r = apptest.LaunchAfter(t, `trap "" HUP`, t.TempDir())
	must(t, r.Cmd.Process.Signal(syscall.SIGHUP))
	time.Sleep(100 * time.Millisecond)
	if got := r.Do("GET", "/healthz", ""); got.Status != 200 {
		t.Errorf("SIGHUP ended it although it was ignored: %s", got)
	}
}

// A limit of open files below that of connections is a warning of the start.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	for limit, warned := range map[int]bool{500: true, 2047: true, 2048: false} {
		r := apptest.LaunchAfter(t, fmt.Sprint("ulimit -n ", limit), t.TempDir())
		if r.Log.Has(fmt.Sprintf("may open %d files", limit)) != warned {
			t.Errorf("with %d files it logs %s", limit, r.Log)
		}
	}
}
