package storetest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"

	"github.com/georgysavva/scany/v2/sqlscan"
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

	// direct opens the database to bypass the store.
	direct func(ctx context.Context) (*sql.DB, error)
}

// SQLite returns the database in a file.
func SQLite(path string) Subject {
	return Subject{
		Open: func(ctx context.Context, jobs *Jobs) (Store, error) {
			pool, err := sqlite.NewPool(path)
			if err != nil {
				return Store{}, err
			}
			db, err := sqlite.New(path, pool, func(*sql.Tx) store.Jobs { return jobs })
			if err != nil {
				return Store{}, err
			}
			return connect(ctx, db)
		},
		direct: func(ctx context.Context) (*sql.DB, error) { return sqlite.OpenDB(ctx, path) },
	}
}

// PostgreSQL returns the database at an address.
func PostgreSQL(url string) Subject {
	return Subject{
		Open: func(ctx context.Context, jobs *Jobs) (Store, error) {
			pool, err := postgres.NewPool(ctx, url)
			if err != nil {
				return Store{}, err
			}
			return connect(ctx, postgres.New(pool, func(pgx.Tx) store.Jobs { return jobs }))
		},
		direct: func(context.Context) (*sql.DB, error) { return sql.Open("pgx", url) },
	}
}

// connect connects a database.
func connect(ctx context.Context, db interface {
	store.Database
	Connect(ctx context.Context, log *slog.Logger) error
	Close() error
}) (Store, error) {
	if err := db.Connect(ctx, slog.New(slog.DiscardHandler)); err != nil {
		return Store{}, errors.Join(err, db.Close())
	}
	return Store{store.New(db), db.Close}, nil
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
	db, err := s.direct(t.Context())
	if err == nil {
		_, err = db.ExecContext(t.Context(), script)
		err = errors.Join(err, db.Close())
	}
	ok(t, err)
}

// Strings runs a query for one column of text, bypassing the store.
func (s Subject) Strings(t testing.TB, query string) (list []string) {
	t.Helper()
	db, err := s.direct(t.Context())
	if err == nil {
		defer db.Close()
		err = sqlscan.Select(t.Context(), db, &list, query)
	}
	ok(t, err)
	return list
}
