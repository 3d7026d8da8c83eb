package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// call is an op of a test.
type call func(ctx context.Context, b *batch) error

func (c call) apply(ctx context.Context, b *batch) error { return c(ctx, b) }

func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "test.db")
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func visit(id string) quote.Visit {
	return quote.Visit{SessionID: id, At: time.UnixMilli(1_750_000_000_000)}
}

// What comes while a batch is being written shares the next one.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var last []string
	s := open(t, Options{Enqueue: func(_ context.Context, _ *sql.Tx, ids []string) error {
		calls.Add(1)
		last = ids
		return nil
	}})
	release, begun := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.group.Do(t.Context(), call(func(context.Context, *batch) error {
			close(begun)
			<-release
			return nil
		})); err != nil {
			t.Error(err)
		}
	})
	<-begun
	const n = 20
	for i := range n {
		wg.Go(func() {
			_, created, err := s.Submit(t.Context(), store.NewSubmission{
				Submission: quote.Submission{ID: fmt.Sprint(i)}, ContentKey: fmt.Sprint(i),
			})
			if err != nil || !created {
				t.Errorf("submission %d: new %v, %v", i, created, err)
			}
		})
	}
	for s.group.Waiting() < n {
		time.Sleep(time.Millisecond)
	}
	close(release)
	wg.Wait()
	if calls.Load() != 1 || len(last) != n {
		t.Errorf("%d calls of the queue, the last with %d submissions: want one with %d", calls.Load(), len(last), n)
	}
}

// A disk that turns read-only is reported, and written to again when it can be.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	if err := s.group.Do(t.Context(), call(func(ctx context.Context, b *batch) error {
		_, err := b.tx.ExecContext(ctx, `PRAGMA query_only = 1`)
		return err
	})); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("the next write gives %v", err)
	}
}

// A connection that is gone is replaced.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	var w *writer
	if err := s.group.Do(t.Context(), call(func(_ context.Context, b *batch) error { w = b.w; return nil })); err != nil {
		t.Fatal(err)
	}
	if err := w.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Track(t.Context(), visit("s")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v from a lost connection, want ErrUnavailable", err)
	}
	if err := s.Track(t.Context(), visit("s")); err != nil {
		t.Errorf("got %v from a new connection", err)
	}
}

// Every connection that writes waits for the disk at each commit and checks what
// belongs together.
func TestPragmas(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	for i, pool := range s.pools {
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "wal_autocheckpoint": "0",
			"busy_timeout": []string{"0", "5000", "20"}[i],
		} {
			var got string
			// A transaction, for the writer keeps its connection to itself.
			if err := s.group.Do(t.Context(), call(func(ctx context.Context, b *batch) error {
				if pool.Stats().InUse > 0 {
					return b.tx.QueryRowContext(ctx, `PRAGMA `+pragma).Scan(&got)
				}
				return pool.QueryRowContext(ctx, `PRAGMA `+pragma).Scan(&got)
			})); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("pool %d: %s is %s, want %s", i, pragma, got, want)
			}
		}
	}
}

// Only the owner may read the database and its log.
func TestFileModes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "test.db")
	s := open(t, Options{Path: path})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(name), info.Mode().Perm())
		}
	}
}

// Under constant load the log stays short, although it is read from all the time.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	s := open(t, Options{Path: path})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	var n atomic.Int64
	for range 16 {
		wg.Go(func() {
			for ctx.Err() == nil {
				id := fmt.Sprint(n.Add(1) * 7919 % 20_011)
				if err := s.Track(t.Context(), visit(id)); err != nil {
					t.Error(err)
				}
				if n.Load()%50 == 0 {
					if _, err := s.Session(t.Context(), id); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	var longest int64
	for ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
		if info, err := os.Stat(path + "-wal"); err == nil {
			longest = max(longest, info.Size())
		}
	}
	wg.Wait()
	t.Logf("%d visits, the log was at most %d MiB", n.Load(), longest>>20)
	if longest > maxWAL {
		t.Errorf("the log grew to %d MiB", longest>>20)
	}
}

// Visits that share a batch give the same session as visits that come one by one.
func TestBatchFoldsAsTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	base := time.UnixMilli(1_750_000_000_000)
	for round := range 200 {
		random := rand.New(rand.NewPCG(1, uint64(round)))
		var rows []sqlstore.SessionRow
		for i := range 6 {
			at := base.Add(time.Duration(random.IntN(200)-100) * time.Second)
			row, err := sqlstore.NewSessionRow(quote.Visit{At: at, Hints: quote.Hints{FirstName: fmt.Sprint(i)}})
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		single, shared := fmt.Sprint("single", round), fmt.Sprint("shared", round)
		if err := s.group.Do(t.Context(), call(func(ctx context.Context, b *batch) error {
			for _, r := range rows {
				r.ID = single
				b.track(r)
				if err := b.flush(ctx); err != nil {
					return err
				}
			}
			for _, r := range rows {
				r.ID = shared
				b.track(r)
			}
			return nil
		})); err != nil {
			t.Fatal(err)
		}
		a, err := s.Session(t.Context(), single)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Session(t.Context(), shared)
		if err != nil {
			t.Fatal(err)
		}
		a.ID = b.ID
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("round %d: one by one %+v, in one batch %+v", round, a, b)
		}
	}
}

// Closing copies the log back and leaves one file, closed.
func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "only.db")
	s := open(t, Options{Path: path})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != 1 {
		t.Errorf("after closing there are %q, %v", files, err)
	}
}
