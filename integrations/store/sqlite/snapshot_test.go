package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest"
)

// A snapshot taken beside a busy writer holds everything that was acknowledged before
// it began, and is a database of its own.
func TestSnapshotBesideAWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var acknowledged atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			n := storetest.Submission(i)
			if err := db.Track(ctx, storetest.Visit(n.Submission.SessionID, storetest.When())); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			if _, _, err := db.Submit(ctx, n); err == nil {
				acknowledged.Store(int64(i + 1))
			} else if ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
	for round := range 5 {
		for before := acknowledged.Load(); acknowledged.Load() < before+50; {
			if t.Failed() {
				break
			}
		}
		least := acknowledged.Load()
		to := filepath.Join(dir, fmt.Sprint("copy-", round))
		if err := sqlite.Snapshot(t.Context(), path, to); err != nil {
			t.Fatal(err)
		}
		most := acknowledged.Load() + 1
		if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
		held, err := sqlite.Open(t.Context(), sqlite.Options{Path: to})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := held.CountSubmissions(t.Context()); err != nil || n < least || n > most {
			t.Errorf("the copy holds %d submissions, want %d to %d (%v)", n, least, most, err)
		}
		if _, err := held.Submission(t.Context(), storetest.Submission(int(least)-1).Submission.ID); err != nil {
			t.Errorf("what was acknowledged before is missing: %v", err)
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	}
	stop()
	<-ended
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestSnapshotRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, taken, broken := filepath.Join(dir, "store.db"), filepath.Join(dir, "taken"), filepath.Join(dir, "broken.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, data := range map[string]string{taken: "mine", broken: "this is no database, but long enough to be read as one: " + string(make([]byte, 4096))} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := sqlite.Snapshot(t.Context(), path, taken); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	if data, _ := os.ReadFile(taken); string(data) != "mine" {
		t.Error("a file that was there is changed")
	}
	if err := sqlite.Snapshot(t.Context(), filepath.Join(dir, "none.db"), filepath.Join(dir, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no database: %v", err)
	}
	if err := sqlite.Snapshot(t.Context(), broken, filepath.Join(dir, "x")); err == nil {
		t.Error("a broken database was copied")
	}
	if err := sqlite.Check(t.Context(), broken); err == nil {
		t.Error("a broken database passes the check")
	}
	if err := sqlite.Check(t.Context(), filepath.Join(dir, "none.db")); err == nil {
		t.Error("a database that is not there passes the check")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sqlite.Snapshot(ctx, path, filepath.Join(dir, "x")); err == nil {
		t.Error("a snapshot was made though nobody waits for it")
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed snapshot leaves something behind: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking for a database made one: %v", err)
	}
}

// A file with a page torn out does not pass for a database.
func TestCheckSeesDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if _, _, err := db.Submit(t.Context(), storetest.Submission(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Check(t.Context(), path); err != nil {
		t.Fatalf("before: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(data) / 2 / 4096 * 4096; at < len(data)/2+4096; at++ {
		data[at] ^= 0x55
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Check(t.Context(), path); err == nil {
		t.Error("the damage is not seen")
	}
}

// Nobody's file is seized from under them, however idle they are; once it is seized
// nobody gets in.
func TestSeize(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	open := func() *sqlite.Store {
		t.Helper()
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	if _, _, err := db.Submit(t.Context(), storetest.Submission(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Seize(t.Context(), path); !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("seizing an open database: %v", err)
	}
	if _, _, err := db.Submit(t.Context(), storetest.Submission(2)); err != nil {
		t.Errorf("the owner after an attempt to seize: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	held, err := sqlite.Seize(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) != 0 {
		t.Errorf("beside the file lie %q", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200_000_000)
	defer cancel()
	if _, err := sqlite.Open(ctx, sqlite.Options{Path: path}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("opening a seized database: %v", err)
	}
	if _, err := sqlite.Seize(t.Context(), path); !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("seizing it twice: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Error(err)
	}
	db = open()
	defer db.Close()
	if n, err := db.CountSubmissions(t.Context()); err != nil || n != 2 {
		t.Errorf("%d submissions after all that, %v", n, err)
	}
	if _, err := sqlite.Seize(t.Context(), filepath.Join(t.TempDir(), "none.db")); err == nil || errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("seizing nothing: %v", err)
	}
}
