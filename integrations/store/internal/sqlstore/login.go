package sqlstore

import (
	"context"
	"time"

	"siteapi/integrations/store"
)

const selectLogins = `SELECT hash, subject, email, role, refresh, started_at, check_at, expires_at
FROM logins`

// StartLogin implements [store.Logins].
func (s *Store) StartLogin(ctx context.Context, l store.Login) error {
	return s.write(ctx, "starting a login", func(ctx context.Context, tx Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM logins WHERE expires_at <= $1`, l.StartedAt); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO logins
(hash, subject, email, role, refresh, started_at, check_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			l.Hash, l.Subject, l.Email, l.Role, l.Refresh, l.StartedAt, l.CheckAt, l.ExpiresAt)
		return err
	})
}

// Login implements [store.Logins].
func (s *Store) Login(ctx context.Context, hash string) (store.Login, error) {
	return one[store.Login](ctx, s.db, "reading a login", selectLogins+" WHERE hash = $1", hash)
}

// ListLogins implements [store.Logins].
func (s *Store) ListLogins(ctx context.Context, now time.Time) ([]store.Login, error) {
	return all[store.Login](ctx, s.db, "reading logins",
		selectLogins+" WHERE expires_at > $1 ORDER BY started_at DESC", now)
}

// ClaimCheck implements [store.Logins].
func (s *Store) ClaimCheck(ctx context.Context, hash string, now, until time.Time) (bool, error) {
	n, err := s.exec(ctx, "claiming the check of a login", `UPDATE logins SET claimed_until = $1
WHERE hash = $2 AND check_at <= $3 AND claimed_until <= $3`, until, hash, now)
	return n > 0, err
}

// RenewLogin implements [store.Logins].
func (s *Store) RenewLogin(ctx context.Context, l store.Login) error {
	_, err := s.exec(ctx, "renewing a login", `UPDATE logins
SET email = $1, role = $2, refresh = $3, check_at = $4, claimed_until = 0 WHERE hash = $5`,
		l.Email, l.Role, l.Refresh, l.CheckAt, l.Hash)
	return err
}

// EndLogins implements [store.Logins].
func (s *Store) EndLogins(ctx context.Context, hash string) (int64, error) {
	return s.exec(ctx, "ending logins", `DELETE FROM logins WHERE hash >= $1 AND hash < $2`, hash, hash+"~")
}
