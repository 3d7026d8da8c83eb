package postgres

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// OperationTimeout bounds a transaction with its retries, and the wait for a
	// connection.
	OperationTimeout = 5 * time.Second
	connectTimeout   = 2 * time.Second
)

// parameters apply to a connection unless its URL sets others. A commit is on disk when
// it is acknowledged, whatever the server's default is. The limits end a statement on the
// server before its request gives up, so that a rejected write does not take effect
// later.
var parameters = map[string]string{ //nolint:gochecknoglobals // a constant table
	"client_encoding":                     "UTF8",
	"synchronous_commit":                  "on",
	"statement_timeout":                   "4s",
	"lock_timeout":                        "3s",
	"idle_in_transaction_session_timeout": "10s",
}

// minPoolSize is the least size of a pool whose URL sets none. The store and the delivery
// queue share the pool.
const minPoolSize = 8

// NewPool returns the pool that the store and the delivery queue share. It connects when it
// is used. Parameters of the URL, for example pool_max_conns, take precedence.
//
// Limits and durability are parameters of the connections, sent when they are opened: a
// connection pooler in between either passes them on or rejects them, and none of them
// stays set on a server connection that others use.
func NewPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	c, err := newConfig(url)
	if err != nil {
		return nil, err
	}
	for name, value := range parameters {
		if c.ConnConfig.RuntimeParams[name] == "" {
			c.ConnConfig.RuntimeParams[name] = value
		}
	}
	return newPool(ctx, c)
}

// NewMigrationPool returns a single connection without time limits, for changes of tables.
func NewMigrationPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	c, err := newConfig(url)
	if err != nil {
		return nil, err
	}
	c.MinConns, c.MinIdleConns, c.MaxConns = 0, 0, 1
	return newPool(ctx, c)
}

func newPool(ctx context.Context, c *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("setting up the connection pool: %w", err)
	}
	return pool, nil
}

// newConfig parses a URL and adds defaults.
func newConfig(url string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("parsing the database URL: %w", err)
	}

	if !strings.Contains(url, "pool_max_conns=") {
		c.MaxConns = max(minPoolSize, int32(2*runtime.NumCPU()))
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = connectTimeout
	}
	c.PingTimeout = connectTimeout
	return c, nil
}
