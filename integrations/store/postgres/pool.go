package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// AcquireTimeout is how long a request waits for a connection.
	AcquireTimeout = 2 * time.Second
	// OperationTimeout bounds a transaction with its retries.
	OperationTimeout = 5 * time.Second
)

// durable makes sure that a commit is on disk when it is acknowledged, whatever the
// server's default is. Stronger settings than "on" stay.
const durable = `SELECT set_config('synchronous_commit', 'on', false) ` +
	`WHERE current_setting('synchronous_commit') = 'off'`

// bounded adds limits that end a statement on the server before the request gives up, so
// that a refused write does not take effect later.
const bounded = durable + `; SET statement_timeout = '4s'; SET lock_timeout = '3s'` +
	`; SET idle_in_transaction_session_timeout = '10s'`

// OpenPool opens a pool of connections and makes sure that the database answers. Settings
// of the URL, such as pool_max_conns, take precedence.
func OpenPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	return openPool(ctx, url, durable)
}

// openPool opens a pool that runs a script on each new connection.
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

	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, translate(fmt.Errorf("connecting to PostgreSQL: %w", err))
	}
	return pool, nil
}
