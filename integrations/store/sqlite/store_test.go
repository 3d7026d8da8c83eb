package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return storetest.Subject{
		Migrations: "../internal/sqlstore/migrations/sqlite",
		Open: func(ctx context.Context, h storetest.Hooks) (storetest.Store, error) {
			return sqlite.Open(ctx, options(path, h))
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

func options(path string, h storetest.Hooks) sqlite.Options {
	o := sqlite.Options{Path: path}
	exec := func(ctx context.Context, tx *sql.Tx) storetest.Exec {
		return func(query string) error {
			_, err := tx.ExecContext(ctx, query)
			return err
		}
	}
	if h.Enqueue != nil {
		o.Enqueue = func(ctx context.Context, tx *sql.Tx, ids []string) error { return h.Enqueue(ctx, exec(ctx, tx), ids) }
	}
	if h.UnderWay != nil {
		o.UnderWay = func(ctx context.Context, tx *sql.Tx, ids []string) ([]string, error) {
			return h.UnderWay(ctx, exec(ctx, tx), ids)
		}
	}
	if h.Cancel != nil {
		o.Cancel = func(ctx context.Context, tx *sql.Tx, id string) error { return h.Cancel(ctx, exec(ctx, tx), id) }
	}
	return o
}

// column runs a query for one column of text.
func column(t testing.TB, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
