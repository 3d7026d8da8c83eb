package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"siteapi/integrations/store"
)

// Limits of the group commit. A batch is written within a few milliseconds, and a full
// queue within a second, even on a slow disk.
const (
	batchLimit = 256
	queueLimit = 4096
)

// Database is a [store.Database] whose writes share transactions: a batch consists of
// the requests that arrived during the previous commit. A lone request does not wait.
type Database struct {
	path  string
	file  os.FileInfo // the file at path when it was connected
	pool  *sql.DB     // the single write connection
	reads *sql.DB
	queue store.Queue[*sql.Tx]

	requests chan *request
	writer   sync.WaitGroup // runs the writer
	closing  chan struct{}
	once     sync.Once     // guards closing
	ended    chan struct{} // closed when the last batch is written
}

// request is one call of Write.
type request struct {
	ended func() error // returns the error of the caller's context
	fn    func(context.Context, store.Tx) error
	done  chan error

	refused error // the error of fn, if fn wrote nothing
}

// Query runs a statement that reads.
func (d *Database) Query(ctx context.Context, query string, args []any, row func(store.Scan) error) error {
	return Translate(session{d.reads}.Query(ctx, query, args, row))
}

// Exec runs a statement that writes.
func (d *Database) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = d.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		n, err = tx.Exec(ctx, query, args...)
		return err
	})
	return n, err
}

// Write runs fn in a transaction that may be shared with other requests, and returns when
// the transaction is on disk. If ctx ends before the request's turn, fn is not called.
func (d *Database) Write(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	r := &request{ended: ctx.Err, fn: fn, done: make(chan error, 1)}
	select {
	case d.requests <- r:
	default:
		return fmt.Errorf("%w: too many requests are waiting", store.ErrUnavailable)
	}

	select {
	case err := <-r.done:
		return err
	case <-d.ended:
	}
	select {
	case err := <-r.done: // it was in the last batch
		return err
	default:
		return fmt.Errorf("%w: the database was closed", store.ErrUnavailable)
	}
}

// run writes batches until the database is closed. If a batch fails for a reason that one
// of its requests may have caused, each request is retried separately, so that only the
// faulty one fails.
func (d *Database) run() {
	defer close(d.ended)
	for {
		select {
		case r := <-d.requests:
			// On a busy machine, this lets requests that are about to write join the
			// batch, which raises the bench's track-vs-bare by a sixth. On an idle
			// machine it takes no time.
			runtime.Gosched()

			batch := d.batch(r)
			err := d.commit(batch)
			if err == nil || len(batch) == 1 || errors.Is(err, store.ErrUnavailable) {
				reply(batch, err)
				continue
			}

			for i := range batch {
				alone := batch[i : i+1]
				reply(alone, d.commit(alone))
			}

		case <-d.closing:
			if len(d.requests) == 0 {
				return
			}
		}
	}
}

// reply sends the result of a batch to its callers.
func reply(batch []*request, err error) {
	for _, r := range batch {
		r.done <- cmp.Or(err, r.refused)
	}
}

// batch returns a request and those waiting behind it, except those whose context has
// ended, which it fails.
func (d *Database) batch(r *request) (batch []*request) {
	for {
		if err := r.ended(); err != nil {
			r.done <- fmt.Errorf("%w: the request has ended: %w", store.ErrUnavailable, err)
		} else {
			batch = append(batch, r)
		}

		if len(batch) == batchLimit || len(d.requests) == 0 {
			return batch
		}
		r = <-d.requests
	}
}

// commit stores the changes of all requests of a batch, or none. Its context never ends,
// because the driver starts a goroutine for each statement whose context can end.
func (d *Database) commit(batch []*request) (err error) {
	ctx := context.Background()
	if now, err := os.Stat(d.path); err != nil || !os.SameFile(now, d.file) {
		return fmt.Errorf("%w: the database file was removed or replaced: restart the service",
			store.ErrUnavailable)
	}

	// The delivery queue shares the pool's only connection, and each of its writes may
	// wait for SQLite's lock.
	turn, cancel := context.WithTimeout(ctx, BusyTimeout)
	conn, err := d.pool.Conn(turn)
	cancel()
	if err != nil {
		return Translate(fmt.Errorf("connecting: %w", err))
	}

	defer func() {
		if err = Translate(err); err != nil && !isBusy(err) {
			// A connection opened while the disk was read-only stays read-only, so it is
			// replaced.
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = conn.Close()
	}()

	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning the transaction: %w", err)
	}
	// After a panic, an open transaction would keep the connection from closing, and the
	// process would hang instead of exiting.
	defer func() { _ = tx.Rollback() }()

	in := store.Tx{DB: session{tx}, Jobs: d.queue(tx), Submitted: new([]string)}
	for _, r := range batch {
		err := r.fn(ctx, in)
		r.refused = nil
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrKeyReused) ||
			errors.Is(err, store.ErrUnderWay) {
			r.refused, err = err, nil
		}
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}

	if err := in.End(ctx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing the transaction: %w", err)
	}
	return nil
}

// session is a [store.DB] over a pool or a transaction.
type session struct {
	c interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

// Exec runs a statement or a script and returns the number of rows it changed.
func (s session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := s.c.ExecContext(ctx, query, store.Args(args)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Query runs a statement and calls row for each row of its result.
func (s session) Query(ctx context.Context, query string, args []any, row func(store.Scan) error) error {
	rows, err := s.c.QueryContext(ctx, query, store.Args(args)...) //nolint:rowserrcheck // EachRow does
	if err != nil {
		return err
	}
	return store.EachRow(rows, row)
}
