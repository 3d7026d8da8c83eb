package storetest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver "pgx"

	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
)

// Store is an open store of a driver.
type Store struct {
	*store.Store
	Close func() error
}

// Subject is a database of a driver.
type Subject struct {
	// Open opens one more store on the database, as another instance of the service
	// would. If jobs is nil, there are no deliveries.
	Open func(ctx context.Context, jobs *Jobs) (Store, error)

	direct *sql.DB // bypasses the store
}

// SQLite returns the database in a file.
func SQLite(t testing.TB, path string) Subject {
	t.Helper()
	pool, err := sqlite.OpenDB(t.Context(), path)
	return newSubject(t, pool, err, func(ctx context.Context, jobs *Jobs) (Store, error) {
		return OpenSQLite(ctx, path, jobs)
	})
}

// OpenSQLite opens the store in a file.
func OpenSQLite(ctx context.Context, path string, jobs *Jobs) (Store, error) {
	pool, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		return Store{}, err
	}
	s, err := sqlite.Open(ctx, path, pool, slog.New(slog.DiscardHandler),
		func(*sql.Tx) store.Jobs { return jobs })
	if err != nil {
		return Store{}, errors.Join(err, pool.Close())
	}
	return Store{s.Store, func() error { return errors.Join(s.Close(), pool.Close()) }}, nil
}

// PostgreSQL returns the database at an address.
func PostgreSQL(t testing.TB, url string) Subject {
	t.Helper()
	direct, err := sql.Open("pgx", url)
	if err == nil {
		direct.SetMaxIdleConns(-1) // tests cut idle connections
	}
	return newSubject(t, direct, err, func(ctx context.Context, jobs *Jobs) (Store, error) {
		pool, err := postgres.OpenPool(ctx, url)
		if err != nil {
			return Store{}, err
		}
		s, err := postgres.Open(ctx, pool, slog.New(slog.DiscardHandler),
			func(pgx.Tx) store.Jobs { return jobs })
		if err != nil {
			pool.Close()
		}
		return Store{s, func() error { pool.Close(); return nil }}, err
	})
}

func newSubject(
	t testing.TB, direct *sql.DB, err error, open func(context.Context, *Jobs) (Store, error),
) Subject {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ok(t, direct.Close()) })
	return Subject{open, direct}
}

// MustOpen opens a store until the end of the test.
func (s Subject) MustOpen(t testing.TB, jobs *Jobs) Store {
	t.Helper()
	db, err := s.Open(t.Context(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

// Exec runs a script in the database, bypassing the store.
func (s Subject) Exec(t testing.TB, script string) {
	t.Helper()
	if _, err := s.direct.ExecContext(t.Context(), script); err != nil {
		t.Fatal(err)
	}
}

// Strings runs a query for one column of text, bypassing the store.
func (s Subject) Strings(t testing.TB, query string) (list []string) {
	t.Helper()
	rows, err := s.direct.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	for rows.Next() {
		var text string
		ok(t, rows.Scan(&text))
		list = append(list, text)
	}
	ok(t, rows.Err())
	return list
}
