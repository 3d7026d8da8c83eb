package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// Snapshot writes a copy of the database file at path to another file, which must not
// be there yet, as it stands at one moment, beside whoever works on it. The copy holds
// nothing of what was deleted, is complete by itself, is on the disk and has been checked
// when Snapshot returns nil. Writers go on meanwhile; the log can't be cut short until
// then, so it grows.
func Snapshot(ctx context.Context, path, to string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("opening the database: %w", err) // rather than begin a new one
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copying the database: %w", errors.Join(fs.ErrExist, err))
	}
	// SQLite fills an empty file that is there, and keeps the mode it has.
	if err := create(to); err != nil {
		return fmt.Errorf("copying the database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	db, err := OpenDB(ctx, path, conns(1))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, to)
	if err := errors.Join(err, db.Close()); err != nil {
		return translate("copying the database", err)
	}
	if err := flush(to); err != nil {
		return fmt.Errorf("copying the database: %w", err)
	}
	return Check(ctx, to)
}

// flush brings a file to the disk.
func flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Check reads a whole database file that nobody works on and returns an error if
// anything about it is not as it should be.
func Check(ctx context.Context, path string) (err error) {
	db, err := openPlain(path, url.Values{"mode": {"ro"}})
	if err != nil {
		return err
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
			return fmt.Errorf("checking the database: %w", err)
		default:
			return fmt.Errorf("checking the database: it is damaged: %s", problem)
		}
	}
	return nil
}

// ErrInUse means that somebody works on a database file.
var ErrInUse = errors.New("the database is in use")

// Seized is a database file that nobody else can work on until it is released.
type Seized struct {
	db   *sql.DB
	conn *sql.Conn
}

// Seize takes a database file out of everybody's reach and copies its log back, so that
// the file alone is all of it. It returns ErrInUse where somebody works on it, also if
// they are idle. Any other error means that SQLite can't read the file.
func Seize(ctx context.Context, path string) (_ *Seized, err error) {
	s := &Seized{}
	if s.db, err = openPlain(path, url.Values{"mode": {"rw"}, "_busy_timeout": {"500"}}); err != nil {
		return nil, err
	}
	defer func() {
		if isBusy(err) {
			err = fmt.Errorf("%w: %w", ErrInUse, err)
		}
		if err != nil {
			err = errors.Join(fmt.Errorf("seizing the database: %w", err), s.Release())
		}
	}()
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return nil, err
	}
	// Only who is alone can leave the write-ahead log; without that log an exclusive
	// transaction keeps readers out as well. The mode is asked for again: somebody may have
	// come in between and begun a log.
	for _, step := range []string{`PRAGMA journal_mode = DELETE`, `BEGIN EXCLUSIVE`, `PRAGMA journal_mode`} {
		mode := "delete"
		if err = s.conn.QueryRowContext(ctx, step).Scan(&mode); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		if mode != "delete" {
			return nil, ErrInUse
		}
	}
	return s, nil
}

// Release lets others at the file.
func (s *Seized) Release() error {
	if s.conn == nil {
		return s.db.Close()
	}
	return errors.Join(s.conn.Close(), s.db.Close())
}

// openPlain opens a file with none of the settings of [OpenDB]. It is not created.
func openPlain(path string, query url.Values) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the database file: %w", err)
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, fmt.Errorf("naming the database: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// Count returns how many submissions and sessions a database file holds that nobody
// works on.
func Count(ctx context.Context, path string) (submissions, sessions int64, err error) {
	db, err := openPlain(path, url.Values{"mode": {"ro"}})
	if err != nil {
		return 0, 0, err
	}
	err = db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM submissions), (SELECT count(*) FROM sessions)`).Scan(&submissions, &sessions)
	if err := errors.Join(err, db.Close()); err != nil {
		return 0, 0, fmt.Errorf("counting what the database holds: %w", err)
	}
	return submissions, sessions, nil
}
