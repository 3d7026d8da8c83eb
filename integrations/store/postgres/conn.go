package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// tries is how often a transaction is begun before its error is reported.
const tries = 4

// pool runs statements and transactions with bounded waits.
type pool struct{ *pgxpool.Pool }

// trial is one try at an operation.
type trial struct {
	number int  // from 0
	lost   bool // an earlier try may have been committed, its answer was lost
}

// run calls fn with a connection, again after failures that left nothing behind; and,
// where repeatable says that doing it twice does no harm, after a lost connection.
func (p pool) run(ctx context.Context, repeatable bool, fn func(context.Context, *pgxpool.Conn, trial) error) error {
	deadline := time.Now().Add(OperationTimeout)
	for t := (trial{}); ; t.number++ {
		err := p.once(ctx, deadline, t, fn)
		if err == nil || t.number == tries-1 || ctx.Err() != nil {
			return err
		}
		lost := repeatable && broken(err)
		if !again(err) && !lost {
			return err
		}
		t.lost = t.lost || lost
		pause := time.Duration(1+rand.IntN(20<<t.number)) * time.Millisecond
		if time.Now().Add(pause).After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

func (p pool) once(
	ctx context.Context, deadline time.Time, t trial, fn func(context.Context, *pgxpool.Conn, trial) error,
) error {
	wait, cancel := context.WithTimeout(ctx, AcquireTimeout)
	conn, err := p.Acquire(wait)
	cancel()
	if err != nil {
		return fmt.Errorf("%w: no connection: %w", store.ErrUnavailable, err)
	}
	defer conn.Release()
	// What has begun is finished: the driver would close the connection of a request
	// that ended, and nobody could say what became of it.
	work, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	err = fn(work, conn, t)
	if err != nil && conn.Conn().IsClosed() {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

// transact runs fn in a transaction.
func (p pool) transact(ctx context.Context, repeatable bool, fn func(context.Context, pgx.Tx, trial) error) error {
	return p.run(ctx, repeatable, func(ctx context.Context, c *pgxpool.Conn, t trial) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return fn(ctx, tx, t) })
	})
}

// Exec runs one statement that may be carried out twice.
func (p pool) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = p.run(ctx, true, func(ctx context.Context, c *pgxpool.Conn, _ trial) error {
		n, err = executor{c}.Exec(ctx, query, args...)
		return err
	})
	return n, err
}

// Query runs a statement that only reads and calls row for each row of its result. It
// is repeated on a new connection where the old one broke before the first row.
func (p pool) Query(ctx context.Context, query string, args []any, row func(sqlstore.Scan) error) error {
	return p.run(ctx, true, func(ctx context.Context, c *pgxpool.Conn, _ trial) error {
		begun := false
		err := executor{c}.Query(ctx, query, args, func(scan sqlstore.Scan) error {
			begun = true
			return row(scan)
		})
		if err != nil && begun && passes(err) {
			return fmt.Errorf("%w: in the middle of the rows: %v", store.ErrUnavailable, err) //nolint:errorlint // the text only: not to be repeated
		}
		return err
	})
}

// executor is a [sqlstore.DB] over a connection or a transaction.
type executor struct {
	c interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

// Exec runs a statement, or without arguments several, and returns the number of
// rows it changed.
func (e executor) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := e.c.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// Query runs a statement and calls row for each row of its result.
func (e executor) Query(ctx context.Context, query string, args []any, row func(sqlstore.Scan) error) error {
	rows, err := e.c.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return errors.Join(err, rows.Err())
		}
	}
	return rows.Err()
}
