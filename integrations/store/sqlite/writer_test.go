package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest"
)

// recorder is a queue that records which leads share a transaction.
type recorder struct {
	hold, begun chan struct{}
	tx, last    *sql.Tx
	batches     [][]string
}

func (q *recorder) in(tx *sql.Tx) store.Jobs { q.tx = tx; return q }

func (q *recorder) Enqueue(_ context.Context, ids []string, _ ...lead.Target) ([]lead.Delivery, error) {
	if q.last == nil {
		close(q.begun)
		<-q.hold
	}

	if q.last != q.tx {
		q.batches = append(q.batches, nil)
	}
	q.last = q.tx
	q.batches[len(q.batches)-1] = append(q.batches[len(q.batches)-1], ids...)
	return nil, nil
}

func (*recorder) TargetsOf(lead.Event, bool) []lead.Target { return nil }

func (*recorder) NotifyOwner(context.Context, string, []string) error { return nil }

func (*recorder) IsDue(context.Context, int64) (bool, error) { return false, nil }

func (*recorder) Complete(context.Context, int64) error { return nil }

// database is a store with its database.
type database struct {
	*store.Store
	*sqlite.Database
}

// open opens the store in a file, and the pool that it shares with the queue, until the end
// of the test.
func open(t *testing.T, path string, queue store.Queue[*sql.Tx]) (database, *sql.DB) {
	t.Helper()
	pool, err := sqlite.NewPool(path)
	must(t, err)
	db, err := sqlite.New(path, pool, queue)
	must(t, err)
	must(t, db.Connect(t.Context(), slog.New(slog.DiscardHandler)))
	t.Cleanup(func() { must(t, db.Close()) })
	return database{store.New(db), db}, pool
}

// noQueue is a queue that creates no deliveries.
func noQueue(*sql.Tx) store.Jobs { return (*storetest.Jobs)(nil) }

// Requests that arrive during the commit of a batch share the next one.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	q := &recorder{hold: make(chan struct{}), begun: make(chan struct{})}
	db, _ := open(t, filepath.Join(t.TempDir(), "group.db"), q.in)

	var wg sync.WaitGroup
	submit := func(i int) {
		wg.Go(func() {
			if _, _, err := db.Submit(t.Context(), storetest.Lead(i)); err != nil {
				t.Error(err)
			}
		})
	}
	submit(0)
	<-q.begun

	const n = 20
	for i := range n {
		submit(1 + i)
	}
	for db.Load().Waiting < n && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	close(q.hold)
	wg.Wait()
	if got := q.batches; len(got) != 2 || !slices.Equal(got[0], []string{"id-000000"}) || len(got[1]) != n {
		t.Errorf("the batches are %q, want one with the first and one with %d", got, n)
	}
}

// A connection opened while the disk was read-only is replaced. A write waits for the
// lock of another process, but only for a limited time.
func TestFailures(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trouble.db")
	db, pool := open(t, path, noQueue)
	_, other := open(t, path, noQueue)

	if _, err := pool.ExecContext(t.Context(), `PRAGMA query_only = 1`); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a read-only disk gives %v", err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("the next write gives %v", err)
	}

	lock := func() *sql.Tx {
		tx, err := other.BeginTx(t.Context(), nil)
		must(t, err)
		return tx
	}
	submit := func() error { _, _, err := db.Submit(t.Context(), storetest.Lead(1)); return err }

	tx := lock()
	began := time.Now()
	if err := submit(); !errors.Is(err, store.ErrUnavailable) || time.Since(began) > 12*time.Second {
		t.Errorf("submitting while another process holds the lock gives %v after %v", err, time.Since(began))
	}
	wantCount(t, db, 0)
	must(t, tx.Rollback())

	tx = lock()
	released := make(chan error)
	time.AfterFunc(300*time.Millisecond, func() { released <- tx.Rollback() })
	if err := errors.Join(submit(), <-released); err != nil {
		t.Errorf("submitting while another process holds the lock briefly gives %v", err)
	}
	wantCount(t, db, 1)

	must(t, os.Rename(path, path+".old"))
	if err := db.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a removed file gives %v", err)
	}
}

func wantCount(t *testing.T, db database, want int) {
	t.Helper()
	counts, err := db.CountWork(t.Context(), store.Filter{})
	if n := storetest.Total(counts); err != nil || n != want {
		t.Errorf("%d leads, %v, want %d", n, err, want)
	}
}

// Every connection syncs the disk at each commit and enforces foreign keys. Only the
// owner may read the files, and closing the store leaves a single file.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "file.db")
	db, pool := open(t, path, noQueue)
	must(t, db.Ping(t.Context()))

	for pragma, want := range map[string]string{
		"journal_mode":  "wal",
		"synchronous":   "2",
		"foreign_keys":  "1",
		"secure_delete": "1",
	} {
		var got string
		if err := pool.QueryRow(`PRAGMA ` + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", pragma, got, err, want)
		}
	}

	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}

	must(t, errors.Join(db.Close(), pool.Close()))
	if files, err := filepath.Glob(path + "*"); err != nil || len(files) != 1 {
		t.Errorf("after closing there are %q, %v", files, err)
	}
}
