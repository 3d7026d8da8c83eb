package sqlstore

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/store"
)

// TakeLease implements [store.Leases].
func (s *Store) TakeLease(ctx context.Context, l store.Lease, life time.Duration) (bool, error) {
	n, err := s.db.Exec(ctx, `
INSERT INTO leases (name, holder, note, expires_at)
VALUES ($1, $2, $3, (SELECT now FROM clock) + $4)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, note = excluded.note, expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at <= (SELECT now FROM clock)`,
		l.Name, l.Holder, l.Note, life.Milliseconds())
	if err != nil {
		return false, fmt.Errorf("taking a lease: %w", err)
	}
	return n > 0, nil
}

// EndLease implements [store.Leases].
func (s *Store) EndLease(ctx context.Context, name, holder string) error {
	_, err := s.db.Exec(ctx, `UPDATE leases SET expires_at = 0 WHERE name = $1 AND holder = $2`, name, holder)
	if err != nil {
		return fmt.Errorf("giving a lease back: %w", err)
	}
	return nil
}

// Lease implements [store.Leases].
func (s *Store) Lease(ctx context.Context, name string) (l store.Lease, active bool, err error) {
	var left int64
	err = one(ctx, s.db,
		`SELECT name, holder, note, expires_at - (SELECT now FROM clock) FROM leases WHERE name = $1`,
		[]any{name}, &l.Name, &l.Holder, &l.Note, &left)
	if err != nil {
		return store.Lease{}, false, fmt.Errorf("reading a lease: %w", err)
	}
	return l, left > 0, nil
}
