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

// Logins stores the logins of operators for all instances, across restarts.
type Logins interface {
	// StartLogin stores a login and removes expired ones.
	StartLogin(ctx context.Context, l Login) error

	// Login returns the login with a hash, or [ErrNotFound].
	Login(ctx context.Context, hash string) (Login, error)

	// ClaimCheck claims the role check of a login until a time. It reports whether the
	// check was due and not claimed by another request.
	ClaimCheck(ctx context.Context, hash string, now, until time.Time) (bool, error)

	// RenewLogin stores the address, role, refresh token and time of the next check, and
	// releases the claim.
	RenewLogin(ctx context.Context, l Login) error

	// EndLogins removes the logins whose hash begins with a prefix and returns their
	// number.
	EndLogins(ctx context.Context, hash string) (int64, error)

	// ListLogins returns the logins that have not expired, newest first.
	ListLogins(ctx context.Context, now time.Time) ([]Login, error)
}
