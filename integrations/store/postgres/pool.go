package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// AcquireTimeout is how long a request waits for a connection.
	AcquireTimeout = 2 * time.Second
	// OperationTimeout bounds a transaction with its retries.
	OperationTimeout = 5 * time.Second
)

// limits end a statement on the server before its request gives up, so that a refused
// write does not take effect later.
var limits = map[string]string{ //nolint:gochecknoglobals // a constant table
	"statement_timeout":                   "4s",
	"lock_timeout":                        "3s",
	"idle_in_transaction_session_timeout": "10s",
}

// maxConns is the size of a pool whose URL names none. The store and the delivery queue
// share it.
const maxConns = 8

// OpenPool opens the pool that the store and the delivery queue share, and makes sure that
// the database answers. Parameters of the URL, such as pool_max_conns, take precedence.
//
// Limits and durability are parameters of the connections, sent when they are opened: a
// connection pooler in between either passes them on or refuses them, and none of them is
// left behind on a server connection that others use.
func OpenPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	c, err := newConfig(ctx, url)
	if err != nil {
		return nil, err
	}
	for name, value := range limits {
		setDefault(c, name, value)
	}

	pool, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}

	var limit string
	err = pool.QueryRow(ctx, `SELECT current_setting('statement_timeout')`, pgx.QueryExecModeExec).Scan(&limit)
	if err == nil && limit == "0" {
		err = errors.New("statements have no time limit: " + poolerAdvice)
	}
	if err != nil {
		pool.Close()
		return nil, Translate(fmt.Errorf("checking the connection's limits: %w", err))
	}
	return pool, nil
}

// OpenMigrationPool opens one connection without limits of time, for changes of tables.
func OpenMigrationPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	c, err := newConfig(ctx, url)
	if err != nil {
		return nil, err
	}
	c.MinConns, c.MinIdleConns, c.MaxConns = 0, 0, 1
	return connect(ctx, c)
}

// newConfig reads a URL and makes sure that a commit is on disk when it is acknowledged,
// whatever the server's default is. Stronger settings than "on" stay. It fails if statements
// cannot be prepared as the URL says.
func newConfig(ctx context.Context, url string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("reading the database's URL: %w", err)
	}

	if !strings.Contains(url, "pool_max_conns=") {
		c.MaxConns = max(maxConns, int32(2*runtime.NumCPU()))
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = AcquireTimeout
	}
	c.PingTimeout = AcquireTimeout

	conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
	if err != nil {
		return nil, Translate(fmt.Errorf("connecting to PostgreSQL: %w", err))
	}
	defer func() { _ = conn.Close(ctx) }()

	var commit string
	if err := conn.QueryRow(ctx, `SELECT current_setting('synchronous_commit')`,
		pgx.QueryExecModeExec).Scan(&commit); err != nil {
		return nil, Translate(fmt.Errorf("reading synchronous_commit: %w", err))
	}
	if commit == "off" {
		c.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
	}
	return c, checkPrepared(ctx, conn)
}

// checkPrepared makes sure that the statements which a connection prepares are its own, unless
// the URL says that none are prepared. Behind a pooler that shares server connections between
// transactions, statements of two clients meet, and some requests would fail.
func checkPrepared(ctx context.Context, conn *pgx.Conn) error {
	if conn.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return nil
	}

	other, err := pgx.ConnectConfig(ctx, conn.Config())
	if err != nil {
		return Translate(fmt.Errorf("connecting to PostgreSQL: %w", err))
	}
	defer func() { _ = other.Close(ctx) }()

	// A busy pooler may give the two connections different ones of the server.
	for range 3 {
		name := "siteapi_" + rand.Text()
		_, err = conn.Prepare(ctx, name, `SELECT 1`)
		if err == nil {
			_, err = other.Prepare(ctx, name, `SELECT 1`)
		}

		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42P05" { // it exists already
			return errors.New("connecting to PostgreSQL: connections share prepared statements: " + poolerAdvice)
		}
		if err != nil {
			return Translate(fmt.Errorf("preparing a statement: %w", err))
		}
	}
	return nil
}

// setDefault sets a parameter of the connections unless the URL does.
func setDefault(c *pgxpool.Config, name, value string) {
	if c.ConnConfig.RuntimeParams[name] == "" {
		c.ConnConfig.RuntimeParams[name] = value
	}
}

// poolerAdvice says how the service works behind a pooler that shares server connections
// between transactions.
const poolerAdvice = "connect to PostgreSQL directly or to a pool in session mode, or see " +
	"\"Behind PgBouncer\" in the manual for pool_mode = transaction"

// connect opens a pool and makes sure that the database answers.
func connect(ctx context.Context, c *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("opening the pool of connections: %w", err)
	}

	err = pool.Ping(ctx)
	if err == nil {
		return pool, nil
	}
	pool.Close()

	if refused, ok := errors.AsType[*pgconn.PgError](err); ok &&
		strings.Contains(refused.Message, "unsupported startup parameter") {
		return nil, fmt.Errorf("connecting to PostgreSQL: PgBouncer refuses the service's limits of time: %s",
			poolerAdvice)
	}
	return nil, Translate(fmt.Errorf("connecting to PostgreSQL: %w", err))
}
