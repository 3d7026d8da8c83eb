//go:build linux

package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"siteapi/integrations/store/sqlite"
)

// A process is killed in the middle of its work, again and again. Every write that it
// acknowledged is stored, with its deliveries, and nothing is stored in part.
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

// check compares the database with the lines that the killed process printed.
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
	leads := column(t, db, `SELECT id FROM leads ORDER BY id`)
	for _, id := range leads {
		stored["submit "+id] = true
	}

	for line := range acknowledged {
		if !stored[line] {
			t.Errorf("lost: %s", line)
		}
	}

	for query, want := range map[string]string{
		`SELECT lead_id FROM deliveries ORDER BY lead_id`:       strings.Join(leads, " "),
		`SELECT lead_id FROM idempotency_keys ORDER BY lead_id`: strings.Join(leads, " "),
		`PRAGMA integrity_check`:                                "ok",
	} {
		if got := strings.Join(column(t, db, query), " "); got != want {
			t.Errorf("%s does not give what belongs to %d leads", query, len(leads))
		}
	}
}

// When the disk is full, requests are refused and nothing is stored in part. Writing
// continues once there is space again.
func TestOutOfRoom(t *testing.T) {
	t.Parallel()
	if out, err := child(t, "out of room", filepath.Join(t.TempDir(), "full.db"), "").Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
