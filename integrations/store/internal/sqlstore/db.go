// Package sqlstore is what the SQL drivers of the store share: the statements, the
// rules of a submission and of a tracked session, the migrations and the group
// commit. It knows no driver: each hands in its connection or transaction as a [DB].
//
// Statements use $1, $2, … for arguments, which SQLite and PostgreSQL both take.
// Errors come back as the driver made them; translating them is the driver's part.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"siteapi/integrations/store"
)

// DB is a connection or a transaction of either driver.
type DB interface {
	// Exec runs a statement and returns the number of rows it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Query runs a statement and calls row once per row of its result. An error of row
	// ends it and is returned.
	Query(ctx context.Context, query string, args []any, row func(scan Scan) error) error
}

// Scan copies the columns of the current row.
type Scan func(dest ...any) error

// one reads the single row of a result, or returns [store.ErrNotFound].
func one(ctx context.Context, db DB, query string, args []any, dest ...any) error {
	found := false
	err := db.Query(ctx, query, args, func(scan Scan) error {
		found = true
		return scan(dest...)
	})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !found {
		return store.ErrNotFound
	}
	return nil
}

// CountSubmissions returns the number of stored submissions.
func CountSubmissions(ctx context.Context, db DB) (int64, error) {
	var n int64
	if err := one(ctx, db, `SELECT count(*) FROM submissions`, nil, &n); err != nil {
		return 0, fmt.Errorf("counting the submissions: %w", err)
	}
	return n, nil
}

// Pulse writes the time of a health check, in milliseconds.
func Pulse(ctx context.Context, db DB, at int64) error {
	if _, err := db.Exec(ctx, `UPDATE pulse SET at = $1 WHERE id = 1`, at); err != nil {
		return fmt.Errorf("writing the pulse: %w", err)
	}
	return nil
}
