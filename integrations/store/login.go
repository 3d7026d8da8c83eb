package store

import (
	"context"
	"time"
)

// Login is the login of an operator who signed in with an account.
type Login struct {
	Hash      string // hash of the cookie
	Subject   string
	Email     string // verified address of the account, in lower case; empty: unknown
	Role      string
	Refresh   string // the encrypted refresh token; empty: none
	StartedAt time.Time
	CheckAt   time.Time // when the role must be checked again
	ExpiresAt time.Time
}

// LoginIDLength is the number of leading characters of a login's hash that form its id.
const LoginIDLength = 12

// ID identifies the login to operators. It grants no access.
func (l Login) ID() string { return l.Hash[:LoginIDLength] }

const selectLogins = `SELECT hash, subject, email, role, refresh, started_at, check_at, expires_at
FROM logins`

// StartLogin stores a login and removes expired ones.
func (s *Store) StartLogin(ctx context.Context, l Login) error {
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

// Login returns the login with a hash, or [ErrNotFound].
func (s *Store) Login(ctx context.Context, hash string) (Login, error) {
	return one[Login](ctx, s.db, "reading a login", selectLogins+" WHERE hash = $1", hash)
}

// ListLogins returns the logins that have not expired, newest first.
func (s *Store) ListLogins(ctx context.Context, now time.Time) ([]Login, error) {
	return all[Login](ctx, s.db, "reading logins",
		selectLogins+" WHERE expires_at > $1 ORDER BY started_at DESC", now)
}

// ClaimCheck claims the role check of a login until a time. It reports whether the check
// was due and not claimed by another request.
func (s *Store) ClaimCheck(ctx context.Context, hash string, now, until time.Time) (bool, error) {
	n, err := s.exec(ctx, "claiming the check of a login", `UPDATE logins SET claimed_until = $1
WHERE hash = $2 AND check_at <= $3 AND claimed_until <= $3`, until, hash, now)
	return n > 0, err
}

// RenewLogin stores the address, role, refresh token and time of the next check, and
// releases the claim.
func (s *Store) RenewLogin(ctx context.Context, l Login) error {
	_, err := s.exec(ctx, "renewing a login", `UPDATE logins
SET email = $1, role = $2, refresh = $3, check_at = $4, claimed_until = 0 WHERE hash = $5`,
		l.Email, l.Role, l.Refresh, l.CheckAt, l.Hash)
	return err
}

// EndLogins removes the logins whose hash begins with a prefix and returns their number.
func (s *Store) EndLogins(ctx context.Context, hash string) (int64, error) {
	return s.exec(ctx, "ending logins", `DELETE FROM logins WHERE hash >= $1 AND hash < $2`, hash, hash+"~")
}
