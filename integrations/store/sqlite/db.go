package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"siteapi/integrations/store"
)

// BusyTimeout is how long a statement waits for another process's write lock.
const BusyTimeout = 5 * time.Second

// NewPool returns the pool that writes to the database file at path. It opens the file, which
// must exist, when it is used.
//
// The pool has one connection: the writers of a process queue for it in database/sql,
// while SQLite's own lock is polled. Transactions begin with BEGIN IMMEDIATE, so that
// they wait rather than fail halfway.
//
// The undo data of a statement is kept in memory: in a file it takes two writes for each
// page that a new lead changes.
func NewPool(path string) (*sql.DB, error) { return newPool(path, 1, "temp_store(memory)") }

// newPool returns a pool. Deleted data is overwritten (secure_delete), so that an erased lead
// is no longer in the file. A checkpoint every 4,000 pages, some 300 leads, keeps its
// cost out of the p99 of a lone lead.
func newPool(path string, conns int, pragmas ...string) (*sql.DB, error) {
	return connect(path, conns, url.Values{
		"_busy_timeout": {strconv.FormatInt(BusyTimeout.Milliseconds(), 10)},
		"_txlock":       {"immediate"},
		"_pragma": append(pragmas,
			"journal_mode(WAL)",
			"synchronous(FULL)",
			"foreign_keys(1)",
			"secure_delete(1)",
			"wal_autocheckpoint(4000)",
			"journal_size_limit(67108864)",
		),
	})
}

// OpenDB returns the pool of [NewPool] once it has opened the file. It creates the file and
// the folder if they are missing, accessible only to their owner.
func OpenDB(ctx context.Context, path string) (*sql.DB, error) {
	db, err := NewPool(path)
	if err != nil {
		return nil, err
	}
	if err := open(ctx, path, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// open opens the file at path, or creates it. SQLite does not wait if several processes
// switch a new file to WAL at once.
func open(ctx context.Context, path string, db *sql.DB) (err error) {
	if err := create(path); err != nil {
		return Translate(fmt.Errorf("creating the database file: %w", err))
	}

	deadline := time.Now().Add(BusyTimeout)
	for err = db.PingContext(ctx); isBusy(err) && time.Now().Before(deadline); err = db.PingContext(ctx) {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return Translate(fmt.Errorf("opening the database: %w", err))
	}
	return nil
}

// connect prepares a pool of connections to a file without opening any.
func connect(path string, conns int, settings url.Values) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the database file: %w", err)
	}

	dsn := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	base, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, fmt.Errorf("configuring the database: %w", err)
	}

	db := sql.OpenDB(connector{base})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// create makes the folder and the empty file, since SQLite would make them readable by
// others. It does not open an existing file: closing it again would drop the locks that
// SQLite holds on it in this process, and the next program that opens the database would
// remove the log together with acknowledged writes.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}

	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Translate marks transient errors as [store.ErrUnavailable].
func Translate(err error) error {
	if err == nil || errors.Is(err, store.ErrUnavailable) || !isTransient(err) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// isTransient reports whether the same request may succeed later.
func isTransient(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return slices.Contains([]int{
			sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
			sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM,
			sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_PERM, sqlite3.SQLITE_INTERRUPT,
			sqlite3.SQLITE_SCHEMA,
		}, e.Code()&0xff)
	}

	return slices.ContainsFunc([]error{
		sql.ErrConnDone, sql.ErrTxDone, driver.ErrBadConn,
		context.DeadlineExceeded, context.Canceled, fs.ErrPermission,
		syscall.ENOSPC, syscall.EROFS, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE,
	}, func(target error) bool { return errors.Is(err, target) })
}

// isBusy reports whether another process was writing. The connection remains usable.
func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
