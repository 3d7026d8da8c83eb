package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"siteapi/integrations/store"
)

// Snapshot writes a copy of the database file at path to another file, which must not
// exist yet, as of one moment, while readers and writers continue. The copy contains no
// deleted data, needs no other file, is on disk and checked. It returns what it holds.
func Snapshot(ctx context.Context, path, to string) (submissions, sessions int64, err error) {
	if _, err := os.Stat(path); err != nil {
		return 0, 0, fmt.Errorf("opening the database: %w", err) // rather than create a new one
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("copying the database: %w", errors.Join(fs.ErrExist, err))
	}
	// SQLite fills an empty file that is there, and keeps the mode it has.
	if err := create(to); err != nil {
		return 0, 0, fmt.Errorf("copying the database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	db, err := OpenDB(ctx, path)
	if err != nil {
		return 0, 0, err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, to)
	if err := errors.Join(err, db.Close()); err != nil {
		return 0, 0, translate(fmt.Errorf("copying the database: %w", err))
	}
	if err := flush(to); err != nil {
		return 0, 0, fmt.Errorf("copying the database: %w", err)
	}
	return Check(ctx, to)
}

// flush syncs a file to disk.
func flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Check reads a whole database file that is not in use and returns what it holds, or
// an error if anything about it is not as it should be.
func Check(ctx context.Context, path string) (submissions, sessions int64, err error) {
	db, err := connect(path, 1, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, query := range []string{
		`SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok' LIMIT 1`,
		`SELECT 'a row of ' || "table" || ' refers to one that is not there' FROM pragma_foreign_key_check LIMIT 1`,
	} {
		var problem string
		switch err := db.QueryRowContext(ctx, query).Scan(&problem); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return 0, 0, fmt.Errorf("checking the database: %w", err)
		default:
			return 0, 0, fmt.Errorf("checking the database: it is damaged: %s", problem)
		}
	}
	err = db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM submissions), (SELECT count(*) FROM sessions)`).
		Scan(&submissions, &sessions)
	if err != nil {
		return 0, 0, fmt.Errorf("counting what the database holds: %w", err)
	}
	return submissions, sessions, nil
}

// Truncate copies the write-ahead log back and empties it, beside other users of the
// file: after an erasure the log holds what was erased until it is written over. It
// returns [store.ErrUnavailable] where others keep it busy for [BusyTimeout].
func Truncate(ctx context.Context, path string) (err error) {
	db, err := OpenDB(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var busy, pages, copied int
	if err := db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &copied); err != nil {
		return translate(fmt.Errorf("emptying the log: %w", err))
	}
	if busy != 0 {
		return fmt.Errorf("emptying the log: %w: others keep reading or writing", store.ErrUnavailable)
	}
	return nil
}
