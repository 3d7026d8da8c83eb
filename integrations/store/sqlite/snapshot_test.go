package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest"
)

// A snapshot taken beside a busy writer contains everything that was acknowledged before
// it began, and is a database of its own.
func TestSnapshotBesideAWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	db := mustOpen(t, path, noQueue)

	var acknowledged atomic.Int64
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}

			if _, _, err := db.Submit(t.Context(), storetest.Lead(i)); err != nil {
				t.Error(err)
				return
			}
			acknowledged.Store(int64(i + 1))
		}
	}()

	for round := range 5 {
		for before := acknowledged.Load(); acknowledged.Load() < before+50 && !t.Failed(); {
		}

		least := acknowledged.Load()
		to := filepath.Join(dir, fmt.Sprint("copy-", round))
		if _, _, err := sqlite.Snapshot(t.Context(), path, to); err != nil {
			t.Fatal(err)
		}
		most := acknowledged.Load() + 1

		if n, _, err := sqlite.Check(t.Context(), to); err != nil || n < least || n > most {
			t.Errorf("the copy holds %d leads, %v, want %d to %d", n, err, least, most)
		}
		if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
	}

	close(stop)
	<-ended
}

// Snapshot and Check overwrite no file, create none by opening it, and refuse a file that
// is not a database.
func TestSnapshotRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	db := mustOpen(t, path, noQueue)

	for i := range 200 {
		if _, _, err := db.Submit(t.Context(), storetest.Lead(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(data) / 2 / 4096 * 4096; at < len(data)/2+4096; at++ {
		data[at] ^= 0x55
	}

	ruin, none, x := filepath.Join(dir, "ruin.db"), filepath.Join(dir, "none.db"), filepath.Join(dir, "x")
	if err := os.WriteFile(ruin, data, 0o600); err != nil {
		t.Fatal(err)
	}

	if n, _, err := sqlite.Check(t.Context(), path); err != nil || n != 200 {
		t.Errorf("the good one: %d %v", n, err)
	}
	if _, _, err := sqlite.Snapshot(t.Context(), path, ruin); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	if _, _, err := sqlite.Snapshot(t.Context(), none, x); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no database: %v", err)
	}

	for _, bad := range []string{ruin, none} {
		if _, _, err := sqlite.Check(t.Context(), bad); err == nil {
			t.Errorf("%s passes the check", bad)
		}
		if _, _, err := sqlite.Snapshot(t.Context(), bad, x); err == nil {
			t.Errorf("%s was copied", bad)
		}
	}

	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 2 {
		t.Errorf("left behind are %q", files)
	}
}
