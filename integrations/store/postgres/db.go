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
	"github.com/jackc/puddle/v2"

	"siteapi/integrations/store"
)

const (
	// tries is how often a transaction is attempted before its error is returned.
	tries = 4

	// PostgreSQL counts a closed connection until its server process has ended, so a role
	// or server at its limit refuses the next connection for a moment.
	connectTries = 10
	connectPause = 50 * time.Millisecond
)

// Database is a [store.Database] with bounded waits.
type Database struct {
	pool  *pgxpool.Pool
	queue store.Queue[pgx.Tx]
}

// Exec runs a statement.
func (d *Database) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	ctx, cancel := operation(ctx)
	defer cancel()

	var n int64
	err := d.connected(ctx, func(c *pgxpool.Conn) (err error) {
		n, err = session{c}.Exec(ctx, query, args...)
		return err
	})
	return n, Translate(err)
}

// Query runs a statement that reads.
func (d *Database) Query(ctx context.Context, query string, args []any, row func(store.Scan) error) error {
	ctx, cancel := operation(ctx)
	defer cancel()

	return Translate(d.connected(ctx, func(c *pgxpool.Conn) error {
		return session{c}.Query(ctx, query, args, row)
	}))
}

// Write runs fn in a transaction, and again after an error that changed nothing. If the
// connection breaks during the commit, the outcome is unknown.
func (d *Database) Write(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	ctx, cancel := operation(ctx)
	defer cancel()

	for n := 1; ; n++ {
		committing := false
		err := d.connected(ctx, func(c *pgxpool.Conn) error {
			return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
				in := store.Tx{DB: session{tx}, Jobs: d.queue(tx), Submitted: new([]string)}
				if err := fn(ctx, in); err != nil {
					return err
				}
				err := in.End(ctx)
				committing = err == nil
				return err
			})
		})

		if err == nil || committing || n == tries || !canRetry(err) {
			return Translate(err)
		}
		time.Sleep(rand.N(10 * time.Millisecond << n))
	}
}

// connected runs fn with a connection of the pool. It waits shortly if the server has too
// many connections.
func (d *Database) connected(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	for n := 1; ; n++ {
		c, err := d.pool.Acquire(ctx)
		if err == nil {
			defer c.Release()
			return fn(c)
		}

		e, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || e.Code != "53300" || n == connectTries {
			return err
		}
		time.Sleep(connectPause)
	}
}

// operation returns the context of an operation. A started operation is completed even if
// its request ends: canceling it would make the driver close the connection and leave the
// outcome unknown. No operation starts after the end of its request.
func operation(request context.Context) (context.Context, context.CancelFunc) {
	ctx := request
	if request.Err() == nil {
		ctx = context.WithoutCancel(request)
	}
	return context.WithTimeout(ctx, OperationTimeout)
}

// session is a [store.DB] over a connection or a transaction.
type session struct {
	c interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

// Exec runs a statement, or several if there are no arguments.
func (s session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := s.c.Exec(ctx, query, store.Args(args)...)
	return tag.RowsAffected(), err
}

// Query runs a statement and calls row for each row of its result.
func (s session) Query(ctx context.Context, query string, args []any, row func(store.Scan) error) error {
	rows, err := s.c.Query(ctx, query, store.Args(args)...)
	if err != nil {
		return err
	}
	return store.EachRow(pgxscan.NewRowsAdapter(rows), row)
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
		return e.Code == "25006" || e.Code == "55P03" // read-only (a standby); lock timeout
	}
	return broken(err) || errors.Is(err, puddle.ErrClosedPool) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// canRetry reports whether a transaction that failed before its commit may succeed
// immediately, because it lost a conflict with another one or its connection broke.
func canRetry(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "40001" || e.Code == "40P01" || e.Code == "57P01"
	}
	return broken(err) && !errors.Is(err, context.DeadlineExceeded)
}

// broken reports whether the connection failed, not the statement.
func broken(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err) || pgconn.Timeout(err)
}
