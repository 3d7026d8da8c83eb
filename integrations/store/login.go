package store

import (
	"context"
	"time"
)

// Login is the login of an operator who signed in with an account, to the inbox or to grant
// access to an assistant.
type Login struct {
	Hash      string // hash of the cookie, or of the key in the tokens of a grant
	Subject   string
	Email     string // verified address of the account, in lower case; empty: unknown
	Role      string
	Secrets   string // tokens of the provider, encrypted
	StartedAt time.Time
	CheckAt   time.Time // when the role must be checked again
	ExpiresAt time.Time

	Client     string // the assistant; empty: a login to the inbox
	GrantState string // what the tokens of a grant are derived from; empty: a login to the inbox
}

// LoginIDLength is the number of leading characters of a login's hash that form its id.
const LoginIDLength = 12

// ID identifies the login to operators. It grants no access.
func (l Login) ID() string { return l.Hash[:LoginIDLength] }

const selectLogins = `SELECT hash, subject, email, role, secrets, started_at, check_at, expires_at,
client, grant_state
FROM logins`

// StartLogin stores a login and removes expired ones.
func (s *Store) StartLogin(ctx context.Context, l Login) error {
	return s.write(ctx, "starting a login", func(ctx context.Context, tx Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM logins WHERE expires_at <= $1`, l.StartedAt); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO logins
(hash, subject, email, role, secrets, started_at, check_at, expires_at, client, grant_state)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			l.Hash, l.Subject, l.Email, l.Role, l.Secrets, l.StartedAt, l.CheckAt, l.ExpiresAt,
			l.Client, l.GrantState)
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

// RenewLogin stores the address, role, secrets and time of the next check, and releases the
// claim.
func (s *Store) RenewLogin(ctx context.Context, l Login) error {
	_, err := s.exec(ctx, "renewing a login", `UPDATE logins
SET email = $1, role = $2, secrets = $3, check_at = $4, claimed_until = 0 WHERE hash = $5`,
		l.Email, l.Role, l.Secrets, l.CheckAt, l.Hash)
	return err
}

// ChangeGrant replaces the state of a grant and the time at which it ends. It reports false
// if another request has changed the state since the grant was read.
func (s *Store) ChangeGrant(ctx context.Context, l Login, state string, expires time.Time) (bool, error) {
	n, err := s.exec(ctx, "renewing a grant", `UPDATE logins SET grant_state = $1, expires_at = $2
WHERE hash = $3 AND grant_state = $4`, state, expires, l.Hash, l.GrantState)
	return n > 0, err
}

// EndLogins removes the logins whose hash begins with a prefix and returns their number.
func (s *Store) EndLogins(ctx context.Context, hash string) (int64, error) {
	return s.exec(ctx, "ending logins", `DELETE FROM logins WHERE hash >= $1 AND hash < $2`, hash, hash+"~")
}

// StoreAuthorization stores the encrypted request of an assistant for access until a time,
// and removes those that have expired.
func (s *Store) StoreAuthorization(ctx context.Context, hash, request string, now, until time.Time) error {
	return s.write(ctx, "storing a request for access", func(ctx context.Context, tx Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM authorizations WHERE expires_at <= $1`, now); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO authorizations (hash, request, expires_at) VALUES ($1, $2, $3)`,
			hash, request, until)
		return err
	})
}

// TakeAuthorization removes and returns the encrypted request with a hash that has not
// expired, or [ErrNotFound].
func (s *Store) TakeAuthorization(
	ctx context.Context, hash string, now time.Time,
) (request string, err error) {
	err = s.write(ctx, "reading a request for access", func(ctx context.Context, tx Tx) error {
		request, err = one[string](ctx, tx, "taking it",
			`DELETE FROM authorizations WHERE hash = $1 AND expires_at > $2 RETURNING request`, hash, now)
		return err
	})
	return request, err
}
