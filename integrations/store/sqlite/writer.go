package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// Limits of the group commit: a batch is written within some milliseconds, and all that
// may wait within a second on a slow disk.
const (
	batchLimit = 256
	queueLimit = 4096
)

// database is a [sqlstore.Database] whose writes share transactions: a batch is whatever
// arrived while the one before it was being committed. A lone request waits for no other.
type database struct {
	pool  *sql.DB // the one connection that writes
	reads *sql.DB
	queue store.Queue[*sql.Tx]
	track *sql.Stmt

	requests chan *request
	mu       sync.RWMutex // held while sending to requests
	closed   bool
	ended    chan struct{} // closed when the last batch is written
}

// request is one call of Write.
type request struct {
	fn      func(context.Context, sqlstore.Tx) error
	claimed atomic.Bool // by the writer that begins it, or by a caller who gives up before
	refused error       // what fn said without having written anything
	done    chan error
}

func newDatabase(ctx context.Context, pool, reads *sql.DB, queue store.Queue[*sql.Tx]) (*database, error) {
	d := &database{
		pool: pool, reads: reads, queue: queue, requests: make(chan *request, queueLimit), ended: make(chan struct{}),
	}
	var err error
	if d.track, err = pool.PrepareContext(ctx, sqlstore.TrackSession); err != nil {
		return nil, fmt.Errorf("preparing: %w", err)
	}
	go d.run()
	return d, nil
}

// Query runs a statement that reads.
func (d *database) Query(ctx context.Context, query string, args []any, row func(sqlstore.Scan) error) error {
	rows, err := d.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return translate(err)
	}
	return translate(eachRow(rows, row))
}

// Exec runs a statement that writes.
func (d *database) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = d.Write(ctx, func(ctx context.Context, tx sqlstore.Tx) error {
		n, err = tx.Exec(ctx, query, args...)
		return err
	})
	return n, err
}

// Write runs fn in a transaction that others may share, and returns when it is on disk.
// If ctx ends first fn is not called; once it has begun, Write waits for the outcome.
func (d *database) Write(ctx context.Context, fn func(context.Context, sqlstore.Tx) error) error {
	r := &request{fn: fn, done: make(chan error, 1)}
	if err := d.send(ctx, r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
	}
	if r.claimed.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: the request ended while it waited: %w", store.ErrUnavailable, ctx.Err())
	}
	return <-r.done
}

func (d *database) send(ctx context.Context, r *request) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return fmt.Errorf("%w: it is being closed", store.ErrUnavailable)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: the request has ended: %w", store.ErrUnavailable, err)
	}
	select {
	case d.requests <- r:
		return nil
	default:
		return fmt.Errorf("%w: too many requests are waiting", store.ErrUnavailable)
	}
}

// close writes what is waiting and closes the connections that read.
func (d *database) close() error {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.requests)
	}
	d.mu.Unlock()
	<-d.ended
	return errors.Join(d.track.Close(), d.reads.Close())
}

// run writes batch after batch until the database is closed.
func (d *database) run() {
	defer close(d.ended)
	for r := range d.requests {
		batch := make([]*request, 0, len(d.requests)+1)
		for ok := true; ok; {
			if r.claimed.CompareAndSwap(false, true) {
				batch = append(batch, r)
			}
			if len(batch) == batchLimit {
				break
			}
			select {
			case r, ok = <-d.requests:
			default:
				ok = false
			}
		}
		if len(batch) > 0 {
			d.settle(batch)
		}
	}
}

// settle writes a batch and answers its requests. Where the batch fails for a reason
// that may lie in one of them its halves are tried, so that a bad request fails alone.
func (d *database) settle(batch []*request) {
	err := d.commit(batch)
	if err != nil && len(batch) > 1 && !errors.Is(err, store.ErrUnavailable) {
		d.settle(batch[:len(batch)/2])
		d.settle(batch[len(batch)/2:])
		return
	}
	for _, r := range batch {
		if err == nil {
			r.done <- r.refused
		} else {
			r.done <- err
		}
	}
}

// commit stores what all requests of a batch ask for, or nothing. Its context never
// ends: the driver starts a goroutine per statement to watch one that may.
func (d *database) commit(batch []*request) (err error) {
	ctx := context.Background()
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return translate(fmt.Errorf("connecting: %w", err))
	}
	defer func() {
		if err = translate(err); err != nil && !isBusy(err) {
			// One opened while the disk was read-only stays so: the next one looks again.
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = conn.Close()
	}()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning the transaction: %w", err)
	}
	t := newTransaction(tx)
	t.statements[sqlstore.TrackSession] = tx.StmtContext(ctx, d.track) // parsing it is an eighth of a track's cost
	queued := sqlstore.Queued[*sql.Tx]{DB: t, Handle: tx, Queue: d.queue}
	for _, r := range batch {
		err := r.fn(ctx, queued)
		r.refused = nil
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrKeyReused) {
			r.refused, err = err, nil
		}
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing the transaction: %w", err)
	}
	return nil
}

// transaction is a [sqlstore.DB] that prepares each statement once, for all requests of
// a batch.
type transaction struct {
	tx         *sql.Tx
	statements map[string]*sql.Stmt
}

func newTransaction(tx *sql.Tx) *transaction {
	return &transaction{tx: tx, statements: make(map[string]*sql.Stmt)}
}

// Exec runs a statement or a script and returns the number of rows it changed.
func (t *transaction) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := t.prepare(ctx, query)
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Query runs a statement and calls row for each row of its result.
func (t *transaction) Query(ctx context.Context, query string, args []any, row func(sqlstore.Scan) error) error {
	s, err := t.prepare(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, row)
}

func (t *transaction) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := t.statements[query]; s != nil {
		return s, nil
	}
	s, err := t.tx.PrepareContext(ctx, query)
	if err == nil {
		t.statements[query] = s
	}
	return s, err
}

func eachRow(rows *sql.Rows, row func(sqlstore.Scan) error) error {
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
