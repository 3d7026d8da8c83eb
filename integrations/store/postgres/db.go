package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/georgysavva/scany/v2/pgxscan"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// tries is how often an operation is attempted before its error is returned.
const tries = 4

// database is a [sqlstore.Database] with bounded waits.
type database struct {
	pool  *pgxpool.Pool
	queue store.Queue[pgx.Tx]
}

// Exec runs a statement that is safe to run twice.
func (d *database) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = d.try(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		n, err = session{c}.Exec(ctx, query, args...)
		return err
	})
	return n, err
}

// Query runs a statement that reads. It is not retried, since row may have been called
// already.
func (d *database) Query(ctx context.Context, query string, args []any, row func(sqlstore.Scan) error) error {
	err := d.once(ctx, time.Now().Add(OperationTimeout), func(ctx context.Context, c *pgxpool.Conn) error {
		return session{c}.Query(ctx, query, args, row)
	})
	return Translate(err)
}

// Write runs fn in a transaction.
func (d *database) Write(ctx context.Context, fn func(context.Context, sqlstore.Tx) error) error {
	return d.try(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		tx, err := c.Begin(ctx)
		if err != nil {
			return err
		}

		in := sqlstore.Tx{DB: session{tx}, Jobs: d.queue(tx), Submitted: new([]string)}
		err = fn(ctx, in)
		if err == nil {
			err = in.End(ctx)
		}
		if err != nil {
			// If the rollback fails, the connection is gone, and the transaction with it.
			_ = tx.Rollback(ctx)
			return err
		}

		if err := tx.Commit(ctx); err != nil {
			return fmt.Errorf("%w: committing the transaction: %w", errFinal, err)
		}
		return nil
	})
}

// errFinal marks an error after which the operation is not retried, since it may have
// taken effect.
var errFinal = errors.New("the outcome is unknown")

// try calls fn with a connection, and again after an error that left nothing behind.
func (d *database) try(ctx context.Context, fn func(context.Context, *pgxpool.Conn) error) error {
	deadline := time.Now().Add(OperationTimeout)
	for n := 1; ; n++ {
		err := d.once(ctx, deadline, fn)
		if err == nil || n == tries || !again(err) {
			return Translate(err)
		}

		select {
		case <-ctx.Done():
			return Translate(err)
		case <-time.After(rand.N(10*time.Millisecond<<n) + time.Millisecond):
		}
	}
}

// once calls fn with a connection from the pool, if there is one within [AcquireTimeout].
func (d *database) once(
	ctx context.Context, deadline time.Time, fn func(context.Context, *pgxpool.Conn) error,
) error {
	wait, cancel := context.WithTimeout(ctx, AcquireTimeout)
	conn, err := d.pool.Acquire(wait)
	cancel()
	if err != nil {
		return fmt.Errorf("%w: no connection: %w", store.ErrUnavailable, err)
	}
	defer conn.Release()

	// An operation that has begun is completed: if ctx ended, the driver would close the
	// connection and the outcome would be unknown.
	ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	return fn(ctx, conn)
}

// session is a [sqlstore.DB] over a connection or a transaction.
type session struct {
	c interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

// Exec runs a statement, or several if there are no arguments.
func (s session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := s.c.Exec(ctx, query, sqlstore.Args(args)...)
	return tag.RowsAffected(), err
}

// Query runs a statement and calls row for each row of its result.
func (s session) Query(ctx context.Context, query string, args []any, row func(sqlstore.Scan) error) error {
	rows, err := s.c.Query(ctx, query, sqlstore.Args(args)...)
	if err != nil {
		return err
	}
	return sqlstore.EachRow(pgxscan.NewRowsAdapter(rows), row)
}

// Translate marks transient errors as [store.ErrUnavailable].
func Translate(err error) error {
	if err == nil || errors.Is(err, store.ErrUnavailable) || !passes(err) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// passes reports whether the same request may succeed later.
func passes(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code[:2] {
		case "08", // connection
			"28", // authentication, while a password is being changed
			"40", // serialization failure, deadlock
			"53", // out of disk, memory or connections
			"57", // shut down, starting, statement timeout
			"58": // input and output
			return true
		}
		return e.Code == "25006" || e.Code == "55P03" // read-only, as a standby is; lock timeout
	}
	return broken(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// again reports whether an operation that failed certainly left nothing behind and may
// succeed at once, because it lost against another one or its connection broke before the
// commit.
func again(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "40001" || e.Code == "40P01" || e.Code == "57P01"
	}
	return broken(err) && !errors.Is(err, errFinal) && !errors.Is(err, context.DeadlineExceeded)
}

// broken reports whether the connection failed rather than the statement.
func broken(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		pgconn.SafeToRetry(err) || pgconn.Timeout(err)
}
