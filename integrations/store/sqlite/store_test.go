package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		return subject(t, filepath.Join(t.TempDir(), "folder", "a b?#%.db"))
	})
}

// subject is a database file for the conformance suite.
func subject(t testing.TB, path string) storetest.Subject {
	t.Helper()
	db, err := sqlite.OpenDB(t.Context(), path)
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})

	return storetest.Subject{
		Open: func(ctx context.Context, jobs *storetest.Jobs) (storetest.Store, error) {
			return openStore(ctx, path, jobs)
		},
		Exec: func(t testing.TB, query string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		},
		Strings: func(t testing.TB, query string) []string {
			t.Helper()
			return column(t, db, query)
		},
	}
}

// opened is a store with its pool.
type opened struct {
	*sqlite.Store
	pool *sql.DB
}

func (o *opened) Close() error { return errors.Join(o.Store.Close(), o.pool.Close()) }

// noQueue is a queue that creates no deliveries.
func noQueue(*sql.Tx) store.Jobs { return storetest.Queue{} }

// openStore opens the store in a file as the service does.
func openStore(ctx context.Context, path string, jobs *storetest.Jobs) (storetest.Store, error) {
	s, err := openWith(ctx, path, func(*sql.Tx) store.Jobs { return storetest.Queue{Jobs: jobs} })
	if err != nil {
		return storetest.Store{}, err
	}
	return storetest.Store{Store: s.Store.Store, Closer: s}, nil
}

func openWith(ctx context.Context, path string, queue store.Queue[*sql.Tx]) (*opened, error) {
	pool, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		return nil, err
	}

	s, err := sqlite.Open(ctx, sqlite.Options{
		Path:  path,
		Pool:  pool,
		Log:   slog.New(slog.DiscardHandler),
		Queue: queue,
	})
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &opened{s, pool}, nil
}

// mustOpen opens a store until the end of the test.
func mustOpen(t *testing.T, path string, queue store.Queue[*sql.Tx]) *opened {
	t.Helper()
	db, err := openWith(t.Context(), path, queue)
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// column runs a query for one column of strings.
func column(t testing.TB, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	must(t, err)
	defer rows.Close()

	var all []string
	for rows.Next() {
		var s string
		must(t, rows.Scan(&s))
		all = append(all, s)
	}

	must(t, rows.Err())
	return all
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
