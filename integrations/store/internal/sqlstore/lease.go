package sqlstore

import (
	"context"
	"time"
)

// TakeLease implements [store.Leases].
func (s *Store) TakeLease(ctx context.Context, name, holder string, life time.Duration) (bool, error) {
	n, err := s.exec(ctx, "taking a lease", `
INSERT INTO leases (name, holder, expires_at) VALUES ($1, $2, (SELECT now FROM clock) + $3)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at <= (SELECT now FROM clock)`,
		name, holder, life.Milliseconds())
	return n > 0, err
}

// EndLease implements [store.Leases].
func (s *Store) EndLease(ctx context.Context, name, holder string) error {
	_, err := s.exec(ctx, "ending a lease", `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder)
	return err
}

// SetNote implements [store.Notes].
func (s *Store) SetNote(ctx context.Context, name, text string) error {
	_, err := s.exec(ctx, "storing a note", `INSERT INTO service_notes (name, text) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET text = excluded.text`, name, text)
	return err
}

// Note implements [store.Notes].
func (s *Store) Note(ctx context.Context, name string) (text string, err error) {
	return one[string](ctx, s.db, "reading a note", `SELECT text FROM service_notes WHERE name = $1`, name)
}
