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
	// OperationTimeout bounds a transaction with its repetitions.
	OperationTimeout = 5 * time.Second
	// StartTimeout is how long [OpenPool] waits for a database that is away.
	StartTimeout = 10 * time.Second
)

// durable makes sure that a commit is on disk when it is answered, whatever the server's
// default is. Stronger settings than "on" stay.
const durable = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`

// bounded adds limits that end a statement on the server before the request gives up on
// it, so that one that was refused is not carried out later.
const bounded = durable + `; SET statement_timeout = '4s'; SET lock_timeout = '3s'; SET idle_in_transaction_session_timeout = '10s'`

// OpenPool opens a pool of connections and makes sure that the database answers. It
// waits up to [StartTimeout] for one that is away or just starting, and fails at once
// when the database refuses the connection. Settings of the URL, such as pool_max_conns,
// go first.
func OpenPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	return openPool(ctx, url, durable)
}

// openPool opens a pool whose connections begin with a script.
func openPool(ctx context.Context, url, script string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("reading the database's URL: %w", err)
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = AcquireTimeout
	}
	c.PingTimeout = AcquireTimeout
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, script)
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
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code[:2] == "28" || e.Code[:2] == "3D" || e.Code[:2] == "42")
}
