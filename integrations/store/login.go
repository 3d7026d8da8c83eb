package store

import (
	"context"
	"time"
)

// Login is that of an operator who signed in with an account.
type Login struct {
	Hash      string // hash of the cookie
	Subject   string
	Email     string // verified address of the account, in lower case; empty: not known
	Role      string
	Refresh   string // the encrypted refresh token; empty: none
	StartedAt time.Time
	CheckAt   time.Time // when the role has to be checked again
	ExpiresAt time.Time
}

// LoginIDLength is how much of a login's hash is its id.
const LoginIDLength = 12

// ID names the login for operators. It opens nothing.
func (l Login) ID() string { return l.Hash[:LoginIDLength] }

// Logins keeps who is signed in, for all instances and across restarts.
type Logins interface {
	// StartLogin stores a login, and removes those that have expired.
	StartLogin(ctx context.Context, l Login) error

	// Login returns the login with a hash, or [ErrNotFound].
	Login(ctx context.Context, hash string) (Login, error)

	// ClaimCheck claims the check of a login's role until a time, and reports whether the
	// check was due and not claimed by another request.
	ClaimCheck(ctx context.Context, hash string, now, until time.Time) (bool, error)

	// RenewLogin stores address, role, refresh token and time of the next check, and gives
	// up the claim.
	RenewLogin(ctx context.Context, l Login) error

	// EndLogins removes the logins whose hash begins with a text and returns their
	// number.
	EndLogins(ctx context.Context, hash string) (int64, error)

	// ListLogins returns the logins that have not expired, the newest first.
	ListLogins(ctx context.Context, now time.Time) ([]Login, error)
}
