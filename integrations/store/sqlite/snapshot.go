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

// Snapshot copies the database file at path, as of one moment, to another file, which
// must not exist yet. Readers and writers continue meanwhile. The copy contains no
// deleted data, needs no other file, is on disk and has been checked. Snapshot returns
// the numbers of leads and sessions in it.
func Snapshot(ctx context.Context, path, to string) (leads, sessions int64, err error) {
	// OpenDB would create a missing database.
	if _, err := os.Stat(path); err != nil {
		return 0, 0, fmt.Errorf("opening the database: %w", err)
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("copying the database: %w", errors.Join(fs.ErrExist, err))
	}

	// SQLite fills an existing empty file and keeps its mode.
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
		return 0, 0, Translate(fmt.Errorf("copying the database: %w", err))
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

// Check reads a whole database file that is not in use and returns the numbers of
// leads and sessions in it, or an error if the file is damaged in any way.
func Check(ctx context.Context, path string) (leads, sessions int64, err error) {
	db, err := connect(path, 1, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	for _, query := range []string{
		`SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok' LIMIT 1`,
		`SELECT 'a row of ' || "table" || ' refers to one that is not there' ` +
			`FROM pragma_foreign_key_check LIMIT 1`,
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

	err = db.QueryRowContext(ctx,
		`SELECT (SELECT count(*) FROM leads), (SELECT count(*) FROM sessions)`).
		Scan(&leads, &sessions)
	if err != nil {
		return 0, 0, fmt.Errorf("counting what the database holds: %w", err)
	}
	return leads, sessions, nil
}

// Truncate copies the write-ahead log back into the database file and empties it, while
// others may use the file. After an erasure the log holds the erased data until it is
// overwritten. Truncate returns [store.ErrUnavailable] if others keep the log busy for
// [BusyTimeout].
func Truncate(ctx context.Context, path string) (err error) {
	db, err := OpenDB(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	var busy, pages, copied int
	if err := db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).
		Scan(&busy, &pages, &copied); err != nil {
		return Translate(fmt.Errorf("emptying the log: %w", err))
	}
	if busy != 0 {
		return fmt.Errorf("emptying the log: %w: others keep reading or writing", store.ErrUnavailable)
	}
	return nil
}
