package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"siteapi/integrations/store"
)

// translate names the operation and marks what may pass by itself as
// [store.ErrUnavailable].
func translate(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrKeyReused):
		return fmt.Errorf("%s: %w", op, err)
	case passes(err):
		return fmt.Errorf("%s: %w: %w", op, store.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// passes reports whether the same request may succeed later.
func passes(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code[:2] {
		case "08", // connection
			"28", // a password that is being changed
			"40", // serialization failure, deadlock
			"53", // out of disk, memory or connections
			"57", // shut down, starting, statement timeout
			"58": // input and output
			return true
		}
		return e.Code == "25006" || e.Code == "55P03" // read-only, as a standby is; lock timeout
	}
	return broken(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// broken reports whether the connection, not the statement, is at fault.
func broken(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, errLost) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		pgconn.SafeToRetry(err) || pgconn.Timeout(err)
}

// errLost marks an error that cost the connection.
var errLost = errors.New("connection lost")

// again reports whether a transaction certainly left nothing behind and is worth
// another try at once: it lost against another one, or was never sent.
func again(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code == "40001" || e.Code == "40P01"
	}
	return pgconn.SafeToRetry(err)
}
