package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// maxStatements is the number of prepared statements that a connection caches: the first
// ones, which include those of visitors' requests.
const maxStatements = 256

// connector opens connections that cache their prepared statements. Without the cache,
// parsing takes a third of the processor time of storing a lead, since the statements of
// triggers are parsed each time as well.
type connector struct{ driver.Connector }

// Connect opens a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	base, ok := opened.(baseConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("unexpected connection type %T", opened), opened.Close())
	}
	return &conn{baseConn: base, statements: map[string]*statement{}}, nil
}

// baseConn is a connection of the driver, with all interfaces that database/sql uses.
type baseConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection with its prepared statements by SQL.
type conn struct {
	baseConn
	statements map[string]*statement
}

// baseStmt is a prepared statement of the driver.
type baseStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// statement is a prepared statement. It is busy until the rows of its result are closed.
type statement struct {
	baseStmt
	busy bool
}

// prepared returns the prepared statement of a query, or nil if it is busy or the cache
// is full.
func (c *conn) prepared(ctx context.Context, query string) (*statement, error) {
	s := c.statements[query]
	if s == nil && len(c.statements) < maxStatements {
		stmt, err := c.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		base, ok := stmt.(baseStmt)
		if !ok {
			return nil, errors.Join(fmt.Errorf("unexpected statement type %T", stmt), stmt.Close())
		}
		s = &statement{baseStmt: base}
		c.statements[query] = s
	}

	if s == nil || s.busy {
		return nil, nil //nolint:nilnil // a missing statement is not an error
	}
	return s, nil
}

// ExecContext runs a statement without a result.
func (c *conn) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.baseConn.ExecContext(ctx, query, args)
	}
	return s.ExecContext(ctx, args)
}

// QueryContext runs a statement with a result.
func (c *conn) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.baseConn.QueryContext(ctx, query, args)
	}

	result, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.busy = true
	return &rows{result, s}, nil
}

// Close closes the connection with its statements.
func (c *conn) Close() (err error) {
	for _, s := range c.statements {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.baseConn.Close())
}

// rows is the result of a prepared statement.
type rows struct {
	driver.Rows
	of *statement
}

// Close releases the statement.
func (r *rows) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}
