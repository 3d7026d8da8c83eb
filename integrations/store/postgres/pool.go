// Package postgres is the store in PostgreSQL, for several instances of the service.
//
// Each submission has a transaction of its own; tracked states that arrive at the
// same time share a statement. A write begun is finished even if its request ends, so
// that the answer is the truth, and takes no longer than [OperationTimeout].
//
// Known limit: when the connection breaks while a commit is being answered, nobody
// knows whether it took place. A submission is then tried again, which finds it if it
// did. A tracked state is not, and is reported as not stored, though it may be.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"siteapi/integrations/store"
)

const (
	// AcquireTimeout is how long a request waits for a connection.
	AcquireTimeout = 2 * time.Second
	// OperationTimeout bounds a transaction, and with its second trials a request.
	OperationTimeout = 5 * time.Second
	// StartTimeout is how long [OpenPool] waits for a database that is away.
	StartTimeout = 10 * time.Second
)

// OpenPool opens a pool of connections and makes sure that the database answers. It
// waits up to [StartTimeout] for one that is away or just starting, and fails at once
// when the database refuses us. Settings of the URL, such as pool_max_conns, go first.
func OpenPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	return openPool(ctx, url, durable)
}

func openPool(ctx context.Context, url, setup string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("reading the database's URL: %w", err)
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = AcquireTimeout
	}
	c.PingTimeout = AcquireTimeout
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, setup)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("opening the pool of connections: %w", err)
	}
	if err := firstContact(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// durable sees to it that a commit is on disk when it is answered, whatever the
// server's default is. Stronger settings than "on" stay.
const durable = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`

// bounded adds limits that end a statement on the server before we give up on it
// here, so that one that was reported as not stored isn't carried out later.
const bounded = durable + `; SET statement_timeout = '4s'; SET lock_timeout = '3s'; SET idle_in_transaction_session_timeout = '10s'`

func firstContact(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	for {
		err := pool.Ping(ctx)
		if err == nil {
			return nil
		}
		if refused(err) {
			return fmt.Errorf("connecting to PostgreSQL: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("connecting to PostgreSQL: %w: no answer within %v: %w", store.ErrUnavailable, StartTimeout, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// refused reports whether the server answered and would answer the same again: wrong
// password, unknown database, no permission.
func refused(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code[:2] == "28" || e.Code[:2] == "3D" || e.Code[:2] == "42")
}
