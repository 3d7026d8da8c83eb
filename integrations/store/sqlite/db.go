// Package sqlite is the store in one SQLite file, the default of a single machine.
//
// One goroutine writes. Requests that arrive while it commits share its next
// transaction, so a commit's wait for the disk is paid once for all of them, and each
// is answered only when its own data is on disk (write-ahead log, synchronous=FULL).
// Several processes may work on one file, as they do during a rolling restart; they
// take turns at SQLite's lock, which is polled, so this is no way to spread load.
//
// Known limits: the file must lie on a local disk, not on a network file system, and
// what is written waits while another process holds the lock, for up to [BusyTimeout].
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"
)

// BusyTimeout is how long a statement waits for another connection's write lock
// before it fails.
const BusyTimeout = 5 * time.Second

// maxWAL is the size, in bytes, that the log's file is cut down to when it is begun anew.
const maxWAL = 64 << 20

// OpenDB opens a pool of connections to the database file at path, creating file and
// folder, readable by their owner only, where they are missing. All connections use the write-ahead
// log with synchronous=FULL, check foreign keys and begin transactions with BEGIN
// IMMEDIATE, so that they wait for their turn at the beginning rather than fail in the
// middle. What is deleted is overwritten, so that an erased lead is not in the file any
// more. The log is copied back by the [Store], not by these connections.
func OpenDB(ctx context.Context, path string, opts ...DBOption) (*sql.DB, error) {
	s := dbSettings{busy: BusyTimeout, pragmas: []string{
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		"secure_delete(1)", "wal_autocheckpoint(0)", "journal_size_limit(" + strconv.Itoa(maxWAL) + ")",
	}}
	for _, o := range opts {
		o(&s)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the database file: %w", err)
	}
	if err := create(path); err != nil {
		return nil, translate("creating the database file", err)
	}
	query := url.Values{
		"_busy_timeout": {strconv.FormatInt(s.busy.Milliseconds(), 10)}, "_txlock": {"immediate"}, "_pragma": s.pragmas,
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, fmt.Errorf("naming the database: %w", err)
	}
	if s.gate != nil {
		connector = gated{Connector: connector, gate: s.gate}
	}
	db := sql.OpenDB(connector)
	if s.conns > 0 {
		db.SetMaxOpenConns(s.conns)
		db.SetMaxIdleConns(s.conns)
	}
	if err := patiently(ctx, func() error { return db.PingContext(ctx) }); err != nil {
		return nil, errors.Join(translate("opening the database", err), db.Close())
	}
	return db, nil
}

// DBOption changes what [OpenDB] opens.
type DBOption func(*dbSettings)

type dbSettings struct {
	busy    time.Duration
	pragmas []string
	conns   int
	gate    *Gate
}

// conns bounds a pool.
func conns(n int) DBOption { return func(s *dbSettings) { s.conns = n } }

// busy replaces [BusyTimeout].
func busy(d time.Duration) DBOption { return func(s *dbSettings) { s.busy = d } }

// pragma adds a setting to every connection, such as "query_only(1)".
func pragma(text string) DBOption {
	return func(s *dbSettings) { s.pragmas = append(s.pragmas, text) }
}

// create makes the folder and the empty file, since SQLite would make them readable
// by others. Its side files take over the mode.
//
// A file that is there already is not touched, and neither is a new one once it has its
// name: to open and close a database file beside SQLite drops the locks of all
// connections that this process has to it, and the next program that looks at the file
// takes the log away from under them.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // readable by the owner only
	if err != nil {
		return err
	}
	err = f.Close()
	if err == nil {
		// Where this fails another process was first, or the file system has no links and
		// SQLite makes the file itself.
		_ = os.Link(f.Name(), path)
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// patiently repeats fn while it finds the database busy, for up to [BusyTimeout].
//
// SQLite would wait by itself, but with pauses of up to 100 ms: a process that writes
// without a pause would hardly ever be found at rest. And it does not wait at all
// where several processes switch a new file to the write-ahead log.
func patiently(ctx context.Context, fn func() error) error {
	for deadline := time.Now().Add(BusyTimeout); ; {
		err := fn()
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(time.Duration(200+rand.IntN(600)) * time.Microsecond):
		}
	}
}
