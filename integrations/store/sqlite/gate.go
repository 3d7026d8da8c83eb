package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
)

// Gate lets the writers of one process take turns in the order they came. SQLite's
// own lock is polled with growing pauses, so under load whoever writes without a pause
// would keep all others out until they give up. Hand the same gate to [Options] and,
// with [Through], to every other pool on the same file.
type Gate struct{ turn sync.Mutex }

// Through makes a pool's writes pass the gate. Statements that only read pass freely.
func Through(g *Gate) DBOption { return func(s *dbSettings) { s.gate = g } }

// gated hands out connections whose writes pass a gate.
type gated struct {
	driver.Connector
	gate *Gate
}

func (g gated) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := g.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	native, ok := c.(nativeConn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks an interface the gate needs"), c.Close())
	}
	return &gatedConn{nativeConn: native, gate: g.gate}, nil
}

// nativeConn is what the SQLite driver's connections can do.
type nativeConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// gatedConn is used by one goroutine at a time, as database/sql promises, so inside
// needs no lock.
type gatedConn struct {
	nativeConn
	gate   *Gate
	inside bool // in a transaction, which holds the gate
}

// BeginTx waits for the gate and keeps it until the transaction ends.
func (c *gatedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o.ReadOnly {
		return c.nativeConn.BeginTx(ctx, o)
	}
	c.gate.turn.Lock()
	tx, err := c.nativeConn.BeginTx(ctx, o)
	if err != nil {
		c.gate.turn.Unlock()
		return nil, err
	}
	c.inside = true
	return &gatedTx{Tx: tx, conn: c}, nil
}

// ExecContext passes the gate for the time of the statement.
func (c *gatedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.passes(query) {
		return c.nativeConn.ExecContext(ctx, query, args)
	}
	c.gate.turn.Lock()
	defer c.gate.turn.Unlock()
	return c.nativeConn.ExecContext(ctx, query, args)
}

// QueryContext passes the gate until the rows are closed: a statement that returns
// what it changed commits only then.
func (c *gatedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.passes(query) {
		return c.nativeConn.QueryContext(ctx, query, args)
	}
	c.gate.turn.Lock()
	rows, err := c.nativeConn.QueryContext(ctx, query, args)
	if err != nil {
		c.gate.turn.Unlock()
		return nil, err
	}
	return &gatedRows{Rows: rows, gate: c.gate}, nil
}

// passes reports whether a statement needs no turn of its own.
func (c *gatedConn) passes(query string) bool {
	if c.inside {
		return true
	}
	for line := range strings.Lines(query) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "--") {
			continue
		}
		return len(line) >= 6 && strings.EqualFold(line[:6], "SELECT")
	}
	return true
}

type gatedTx struct {
	driver.Tx
	conn *gatedConn
}

// Commit ends the transaction and lets the next writer through.
func (t *gatedTx) Commit() error {
	defer t.leave()
	return t.Tx.Commit()
}

// Rollback ends the transaction and lets the next writer through.
func (t *gatedTx) Rollback() error {
	defer t.leave()
	return t.Tx.Rollback()
}

func (t *gatedTx) leave() {
	t.conn.inside = false
	t.conn.gate.turn.Unlock()
}

type gatedRows struct {
	driver.Rows
	gate *Gate
	once sync.Once
}

// Close ends the statement and lets the next writer through.
func (r *gatedRows) Close() error {
	defer r.once.Do(r.gate.turn.Unlock)
	return r.Rows.Close()
}
