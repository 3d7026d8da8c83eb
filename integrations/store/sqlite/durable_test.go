//go:build linux

package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"siteapi/integrations/store/sqlite"
)

// A process is killed in the middle of its work, again and again: what it
// acknowledged is there, with its deliveries, and nothing is there by half.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "killed.db")
	acknowledged := map[string]bool{}
	const rounds = 6
	for round := range rounds {
		cmd := child(t, "write", path, fmt.Sprint("round", round))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range lines(out) {
			acknowledged[line] = true
			if n++; n == 100+70*round {
				if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Fatalf("round %d: the child ended with %v, want its death", round, err)
		}
		check(t, path, acknowledged)
	}
	t.Logf("%d acknowledged writes in %d lives", len(acknowledged), rounds)
}

// Any other program may look at the file while the service works: an operator's shell,
// a backup. The last connection to close takes the log away, so SQLite has to see by
// our lock on the file that it is not the last one.
func TestLookedAt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.db")
	cmd := child(t, "pause", path, "")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]bool{}
	for line := range lines(out) {
		acknowledged[line] = true
		switch len(acknowledged) {
		case 1:
			if !lockedByAnother(t, path) {
				t.Error("the service holds no lock on its database: another program would take the log away")
			}
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if got := column(t, db, `SELECT id FROM submissions`); len(got) != 1 {
				t.Errorf("the other program sees %q", got)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintln(in, "go"); err != nil {
				t.Fatal(err)
			}
		case 20:
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	check(t, path, acknowledged)
}

// lockedByAnother asks the system whether another process has SQLite's shared lock on a
// file, which lies on 510 bytes behind the first GiB.
func lockedByAnother(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 1<<30 + 2, Len: 510}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil {
		t.Fatal(err)
	}
	return lock.Type != syscall.F_UNLCK
}

func check(t *testing.T, path string, acknowledged map[string]bool) {
	t.Helper()
	db, err := sqlite.OpenDB(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stored := map[string]bool{}
	for _, id := range column(t, db, `SELECT id FROM sessions`) {
		stored["track "+id] = true
	}
	submissions := column(t, db, `SELECT id FROM submissions ORDER BY id`)
	for _, id := range submissions {
		stored["submit "+id] = true
	}
	for line := range acknowledged {
		if !stored[line] {
			t.Errorf("lost: %s", line)
		}
	}
	for query, want := range map[string]string{
		`SELECT submission_id FROM jobs ORDER BY submission_id`:            strings.Join(submissions, " "),
		`SELECT submission_id FROM submission_keys ORDER BY submission_id`: strings.Join(submissions, " "),
		`PRAGMA integrity_check`: "ok",
	} {
		if got := strings.Join(column(t, db, query), " "); got != want {
			t.Errorf("%s does not give what belongs to %d submissions", query, len(submissions))
		}
	}
}

// No room left: requests are refused, nothing is stored by half, and when there is
// room again all goes on.
func TestOutOfRoom(t *testing.T) {
	t.Parallel()
	if out, err := child(t, "out of room", filepath.Join(t.TempDir(), "full.db"), "").Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
