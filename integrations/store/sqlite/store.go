// Package sqlite is the store in one SQLite file, the default on a single machine.
//
// One connection writes. Requests that arrive during a commit share the next transaction,
// and with it one wait for the disk. Each request is answered only when its own data is
// on disk (write-ahead log, synchronous=FULL). Several processes may use one file, as
// they do during a rolling restart.
//
// Known limits: the file must be on a local disk, not on a network file system, and a
// write waits while another process holds SQLite's lock, for up to twice [BusyTimeout].
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"siteapi/integrations/store"
)

// Store is the [store.Store] in one SQLite file.
type Store struct {
	*store.Store
	db *database
}

// readers is the number of connections that read.
const readers = 4

// Open brings the tables in the file at path up to date and starts the writer. The pool is
// opened by [OpenDB] and shared with the queue, which creates deliveries in the store's
// transactions. log gets a line for each applied migration.
func Open(
	ctx context.Context, path string, pool *sql.DB, log *slog.Logger, queue store.Queue[*sql.Tx],
) (*Store, error) {
	if err := migrate(ctx, pool, log); err != nil {
		return nil, Translate(fmt.Errorf("bringing the tables up to date: %w", err))
	}

	reads, err := open(ctx, path, readers, "query_only(1)")
	if err != nil {
		return nil, err
	}

	file, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(err, reads.Close())
	}

	db := &database{
		path:     path,
		file:     file,
		pool:     pool,
		queue:    queue,
		reads:    reads,
		requests: make(chan *request, queueLimit),
		closing:  make(chan struct{}),
		ended:    make(chan struct{}),
	}

	go db.run()
	return &Store{store.New(db), db}, nil
}

// migrate holds SQLite's write lock while it reads and changes the tables, so that
// processes that start at once migrate one after the other.
func migrate(ctx context.Context, pool *sql.DB, log *slog.Logger) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}

	err = store.Migrate(ctx, session{tx}, log, "sqlite",
		`SELECT count(*) FROM sqlite_master WHERE name = 'store_migrations'`)
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Load returns the current load of the store.
func (s *Store) Load() store.Load {
	writes, reads := s.db.pool.Stats(), s.db.reads.Stats()
	return store.Load{
		Waiting: len(s.db.requests),
		Busy:    writes.InUse + reads.InUse,
		Idle:    writes.Idle + reads.Idle,
	}
}

// Close writes the waiting requests and closes the read connections. Closing twice is not
// an error. The caller closes the pool.
func (s *Store) Close() error {
	s.db.once.Do(func() { close(s.db.closing) })
	<-s.db.ended
	return s.db.reads.Close()
}
