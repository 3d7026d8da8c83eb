package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"siteapi/integrations/store"
)

// Snapshot copies the database file at path, as of one moment, to another file, which
// must not exist yet. Readers and writers continue meanwhile. The copy contains no
// deleted data, needs no other file and has been checked. Snapshot returns the numbers of
// leads and sessions in it.
func Snapshot(ctx context.Context, path, to string) (leads, sessions int64, err error) {
	db, err := OpenDB(ctx, path)
	if err != nil {
		return 0, 0, err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, to)
	if err := errors.Join(err, db.Close()); err != nil {
		return 0, 0, Translate(fmt.Errorf("copying the database: %w", err))
	}
	return Check(ctx, to)
}

// Check reads a whole database file that is not in use and returns the numbers of
// leads and sessions in it, or an error if the file is damaged in any way.
func Check(ctx context.Context, path string) (leads, sessions int64, err error) {
	db, err := connect(path, 1, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	var problem string
	err = db.QueryRowContext(ctx, `SELECT coalesce(
(SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok' LIMIT 1),
(SELECT 'a row of ' || "table" || ' references a missing one'
  FROM pragma_foreign_key_check LIMIT 1), ''),
(SELECT count(*) FROM leads), (SELECT count(*) FROM sessions)`).Scan(&problem, &leads, &sessions)
	if err != nil {
		return 0, 0, fmt.Errorf("checking the database: %w", err)
	}
	if problem != "" {
		return 0, 0, fmt.Errorf("checking the database: damaged: %s", problem)
	}
	return leads, sessions, nil
}

// Truncate copies the write-ahead log back into the database file and empties it, while
// other processes may use the file. After an erasure the log contains the erased data
// until it is overwritten. Truncate returns [store.ErrUnavailable] if other processes
// keep the log busy for [BusyTimeout].
func (d *Database) Truncate(ctx context.Context) (err error) {
	db, err := OpenDB(ctx, d.path)
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
		return fmt.Errorf("emptying the log: %w: other processes keep reading or writing",
			store.ErrUnavailable)
	}
	return nil
}
