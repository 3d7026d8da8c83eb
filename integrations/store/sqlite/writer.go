package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"siteapi/integrations/store/internal/sqlstore"
)

// writer is the one connection that writes. Only the goroutine that commits uses it.
type writer struct {
	pool    *sql.DB
	gate    *Gate
	enqueue func(ctx context.Context, tx *sql.Tx, submissionIDs []string) error

	conn   *sql.Conn // nil while there is none
	db     *prepared // the statements of conn
	upsert *sql.Stmt // of conn
}

// op is one request to write. It leaves its result in itself; when its batch fails
// and is tried again, apply is called again.
type op interface {
	apply(ctx context.Context, b *batch) error
}

// batch is a transaction that several requests share.
type batch struct {
	w        *writer
	tx       *sql.Tx
	sessions map[string]sqlstore.SessionRow // tracked, not yet written
	created  []string                       // ids of new submissions
	pulse    int64                          // time of the latest health check; 0: none
}

// commit stores what all ops ask for, or nothing.
func (w *writer) commit(ctx context.Context, ops []op) (err error) {
	w.gate.turn.Lock()
	defer w.gate.turn.Unlock()
	defer func() {
		err = translate("writing", err)
		if err != nil && !isBusy(err) {
			w.discard()
		}
	}()
	var tx *sql.Tx
	if err := patiently(ctx, func() error {
		tx, err = w.begin(ctx)
		return err
	}); err != nil {
		return err
	}
	b := &batch{w: w, tx: tx, sessions: make(map[string]sqlstore.SessionRow, len(ops))}
	for _, o := range ops {
		if err := o.apply(ctx, b); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	if err := b.finish(ctx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing the transaction: %w", err)
	}
	return nil
}

// track adds a visit to what the batch has of its session.
func (b *batch) track(r sqlstore.SessionRow) {
	if s, ok := b.sessions[r.ID]; ok {
		s.Add(r)
		r = s
	}
	b.sessions[r.ID] = r
}

// flush writes the tracked sessions, for an op that depends on them.
func (b *batch) flush(ctx context.Context) error {
	for _, r := range b.sessions {
		_, err := b.w.upsert.ExecContext(ctx, r.ID, r.State, r.FirstSeen, r.LastSeen, r.Visits)
		if err != nil {
			return fmt.Errorf("storing the session: %w", err)
		}
	}
	clear(b.sessions)
	return nil
}

func (b *batch) finish(ctx context.Context) error {
	if err := b.flush(ctx); err != nil {
		return err
	}
	if b.pulse != 0 {
		if err := sqlstore.Pulse(ctx, b.w.db, b.pulse); err != nil {
			return err
		}
	}
	if len(b.created) == 0 || b.w.enqueue == nil {
		return nil
	}
	if err := b.w.enqueue(ctx, b.tx, b.created); err != nil {
		return fmt.Errorf("creating the deliveries: %w", err)
	}
	return nil
}

// begin takes SQLite's write lock.
func (w *writer) begin(ctx context.Context) (*sql.Tx, error) {
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("beginning the transaction: %w", err)
	}
	return tx, nil
}

// connect makes the connection and its statements where there are none.
func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	upsert, err := conn.PrepareContext(ctx, sqlstore.Upsert)
	if err != nil {
		return errors.Join(fmt.Errorf("preparing: %w", err), conn.Close())
	}
	w.conn, w.upsert, w.db = conn, upsert, newPrepared(conn)
	return nil
}

// discard closes the connection for good: after trouble with the disk a new one
// finds out for itself how things stand.
func (w *writer) discard() {
	if w.conn == nil {
		return
	}
	_ = w.upsert.Close()
	_ = w.db.Close()
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = w.conn.Close()
	w.conn, w.upsert, w.db = nil, nil, nil
}
