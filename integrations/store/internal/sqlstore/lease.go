package sqlstore

import (
	"context"
	"fmt"
	"time"
)

// TakeLease implements [store.Leases].
func (s *Store) TakeLease(ctx context.Context, name, holder string, life time.Duration) (bool, error) {
	n, err := s.db.Exec(ctx, `
INSERT INTO leases (name, holder, expires_at) VALUES ($1, $2, (SELECT now FROM clock) + $3)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at <= (SELECT now FROM clock)`,
		name, holder, life.Milliseconds())
	if err != nil {
		return false, fmt.Errorf("taking a lease: %w", err)
	}
	return n > 0, nil
}

// EndLease implements [store.Leases].
func (s *Store) EndLease(ctx context.Context, name, holder string) error {
	_, err := s.db.Exec(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder)
	if err != nil {
		return fmt.Errorf("ending a lease: %w", err)
	}
	return nil
}

// LeaseTaken implements [store.Leases].
func (s *Store) LeaseTaken(ctx context.Context, name string) (bool, error) {
	var n int
	err := one(ctx, s.db, `SELECT count(*) FROM leases WHERE name = $1 AND expires_at > (SELECT now FROM clock)`,
		[]any{name}, &n)
	if err != nil {
		return false, fmt.Errorf("reading a lease: %w", err)
	}
	return n > 0, nil
}

// SetNote implements [store.Notes].
func (s *Store) SetNote(ctx context.Context, name, text string) error {
	_, err := s.db.Exec(ctx, `INSERT INTO service_notes (name, text) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET text = excluded.text`, name, text)
	if err != nil {
		return fmt.Errorf("storing a note: %w", err)
	}
	return nil
}

// Note implements [store.Notes].
func (s *Store) Note(ctx context.Context, name string) (text string, err error) {
	err = one(ctx, s.db, `SELECT text FROM service_notes WHERE name = $1`, []any{name}, &text)
	if err != nil {
		return "", fmt.Errorf("reading a note: %w", err)
	}
	return text, nil
}
