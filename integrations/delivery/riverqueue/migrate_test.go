package riverqueue_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"siteapi/integrations/delivery/riverqueue"
	"siteapi/integrations/store/storetest/pgserver"
)

// TestMigrateAtOnce: ten processes that start at once take turns.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	const processes = 10
	atOnce := func(t *testing.T, open func(t *testing.T) migrator) {
		t.Helper()
		var wg sync.WaitGroup
		for range processes {
			q := open(t)
			wg.Go(func() {
				if err := q.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := open(t).Migrate(t.Context()); err != nil {
			t.Errorf("once more: %v", err)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		atOnce(t, func(t *testing.T) migrator {
			pool := openSQLite(t, dir)
			pool.SetMaxOpenConns(1)
			return newQueue(t, riversqlite.New(pool), lookedAt(dir))
		})
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		url := pgserver.Start(t).NewDatabase(t)
		atOnce(t, func(t *testing.T) migrator {
			return newQueue(t, riverpgxv5.New(openPostgres(t, url)), lookedAt(""))
		})
	})
}

// TestMigrateWaits: whoever can't get a turn gives up when its context ends.
func TestMigrateWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool := openSQLite(t, dir)
	q := newQueue(t, riversqlite.New(pool), lookedAt(dir))
	unlock := holdFile(t, filepath.Join(dir, "run", "migrate.flock"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Migrate(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("without a turn: %v", err)
	}
	unlock()
	if err := q.Migrate(t.Context()); err != nil {
		t.Errorf("with a turn: %v", err)
	}
	// A folder that can't be made is an error, not a race.
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := lookedAt(dir)
	o.LockDir = filepath.Join(file, "run")
	if err := newQueue(t, riversqlite.New(pool), o).Migrate(t.Context()); err == nil {
		t.Error("migrating without a folder for the lock succeeded")
	}
}

// lookedAt are the options of a queue that is not started.
func lookedAt(dir string) riverqueue.Options {
	o := plainOptions(dir, nil)
	o.Senders = nil
	return o
}
