package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Handle is a [Database] that is connected later. Until then it is unavailable.
type Handle struct {
	db    Database
	state atomic.Pointer[error] // of the last attempt to connect
}

// NewHandle returns a handle of a database that is not connected.
func NewHandle(db Database) *Handle { return &Handle{db: db} }

// Connect calls connect, unless an earlier call has succeeded.
func (h *Handle) Connect(connect func() error) error {
	if h.failure() == nil {
		return nil
	}
	err := connect()
	h.state.Store(&err)
	return err
}

// failure returns why the database is not connected, as [ErrUnavailable].
func (h *Handle) failure() error {
	err := h.state.Load()
	switch {
	case err == nil:
		return ErrUnavailable
	case *err == nil || errors.Is(*err, ErrUnavailable):
		return *err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, *err)
}

// Exec implements [DB].
func (h *Handle) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := h.failure(); err != nil {
		return 0, err
	}
	return h.db.Exec(ctx, query, args...)
}

// Query implements [DB].
func (h *Handle) Query(ctx context.Context, query string, args []any, row func(Scan) error) error {
	if err := h.failure(); err != nil {
		return err
	}
	return h.db.Query(ctx, query, args, row)
}

// Write implements [Database].
func (h *Handle) Write(ctx context.Context, fn func(context.Context, Tx) error) error {
	if err := h.failure(); err != nil {
		return err
	}
	return h.db.Write(ctx, fn)
}
