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

// readers is the number of connections that read.
const readers = 4

// New returns the database in the file at path. It must be connected before it is used. The
// pool of [NewPool] is shared with the queue, which creates deliveries in its transactions.
func New(path string, pool *sql.DB, queue store.Queue[*sql.Tx]) (*Database, error) {
	reads, err := newPool(path, readers, "query_only(1)")
	if err != nil {
		return nil, err
	}
	return &Database{
		path:     path,
		pool:     pool,
		queue:    queue,
		reads:    reads,
		requests: make(chan *request, queueLimit),
		closing:  make(chan struct{}),
		ended:    make(chan struct{}),
	}, nil
}

// Connect opens or creates the file, brings its tables up to date and starts the writer. log
// gets a line for each applied migration.
func (d *Database) Connect(ctx context.Context, log *slog.Logger) (err error) {
	if err := open(ctx, d.path, d.pool); err != nil {
		return err
	}
	if err := migrate(ctx, d.pool, log); err != nil {
		return Translate(fmt.Errorf("bringing the tables up to date: %w", err))
	}

	if err := open(ctx, d.path, d.reads); err != nil {
		return err
	}
	if d.file, err = os.Stat(d.path); err != nil {
		return err
	}
	d.writer.Go(d.run)
	return nil
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

// Load returns the current load of the database.
func (d *Database) Load() store.Load {
	writes, reads := d.pool.Stats(), d.reads.Stats()
	return store.Load{
		Waiting: len(d.requests),
		Busy:    writes.InUse + reads.InUse,
		Idle:    writes.Idle + reads.Idle,
	}
}

// Sizes returns the size of the file with its write-ahead log, in bytes, under no name.
func (d *Database) Sizes(context.Context) (map[string]int64, error) {
	size := int64(0)
	for _, path := range []string{d.path, d.path + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return map[string]int64{"": size}, nil
}

// Close writes the waiting requests and closes the connections. Closing twice is not an
// error.
func (d *Database) Close() error {
	d.once.Do(func() { close(d.closing) })
	d.writer.Wait()
	return errors.Join(d.reads.Close(), d.pool.Close())
}
