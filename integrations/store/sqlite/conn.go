package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"siteapi/integrations/store/internal/sqlstore"
)

// preparer is a pool or one connection of it.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// prepared is a [sqlstore.DB] that prepares each statement once. The statements of a
// program are constants, so their number is bounded.
type prepared struct {
	source preparer

	mu    sync.RWMutex
	stmts map[string]*sql.Stmt
}

func newPrepared(source preparer) *prepared {
	return &prepared{source: source, stmts: make(map[string]*sql.Stmt)}
}

// Exec runs a statement and returns the number of rows it changed.
func (p *prepared) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := p.stmt(ctx, query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Query runs a statement and calls row for each row of its result.
func (p *prepared) Query(ctx context.Context, query string, args []any, row func(sqlstore.Scan) error) error {
	s, err := p.stmt(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, row)
}

func (p *prepared) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	p.mu.RLock()
	s := p.stmts[query]
	p.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	s, err := p.source.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.stmts[query]; first != nil {
		return first, s.Close()
	}
	p.stmts[query] = s
	return s, nil
}

// Close frees the statements.
func (p *prepared) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.stmts {
		errs = append(errs, s.Close())
	}
	clear(p.stmts)
	return errors.Join(errs...)
}

// plain is a [sqlstore.DB] over a transaction, for scripts of several statements.
type plain struct{ tx *sql.Tx }

// Exec runs one statement or several.
func (p plain) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := p.tx.ExecContext(ctx, query, args...)
	if err != nil || res == nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Query runs a statement and calls row for each row of its result.
func (p plain) Query(ctx context.Context, query string, args []any, row func(sqlstore.Scan) error) error {
	rows, err := p.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, row)
}

func eachRow(rows *sql.Rows, row func(sqlstore.Scan) error) error {
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
