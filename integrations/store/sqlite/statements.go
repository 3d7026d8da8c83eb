package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// mostStatements is how many prepared statements a connection keeps: the first ones, among which
// are those of all visitors.
const mostStatements = 256

// connector opens connections that keep the statements they have prepared. Without that,
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
		return nil, errors.Join(fmt.Errorf("a connection is of type %T", opened), opened.Close())
	}
	return &conn{baseConn: base, kept: map[string]*statement{}}, nil
}

// baseConn is a connection of the driver, with all that database/sql asks it for.
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

// conn is a connection with its prepared statements, by their SQL.
type conn struct {
	baseConn
	kept map[string]*statement
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

// take returns the prepared statement of a query, or nil if it is busy, or not kept since there
// are enough of them.
func (c *conn) take(ctx context.Context, query string) (*statement, error) {
	s := c.kept[query]
	if s == nil && len(c.kept) < mostStatements {
		prepared, err := c.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		base, ok := prepared.(baseStmt)
		if !ok {
			return nil, errors.Join(fmt.Errorf("a statement is of type %T", prepared), prepared.Close())
		}
		s = &statement{baseStmt: base}
		c.kept[query] = s
	}

	if s == nil || s.busy {
		return nil, nil //nolint:nilnil // no statement is no error
	}
	return s, nil
}

// ExecContext runs a statement without a result.
func (c *conn) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	s, err := c.take(ctx, query)
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
	s, err := c.take(ctx, query)
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
	for _, s := range c.kept {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.baseConn.Close())
}

// rows is the result of a prepared statement.
type rows struct {
	driver.Rows
	of *statement
}

// Close makes the statement free again.
func (r *rows) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}
