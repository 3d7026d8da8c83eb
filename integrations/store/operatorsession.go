package store

import (
	"context"
	"time"
)

// OperatorSession is the session of an operator who signed in with an account.
type OperatorSession struct {
	Hash      string // hash of the cookie
	Subject   string
	Email     string // verified address of the account, in lower case; empty: not known
	Role      string
	Refresh   string // the encrypted refresh token; empty: none
	StartedAt time.Time
	CheckAt   time.Time // when the role has to be checked again
	ExpiresAt time.Time
}

// SessionIDLength is how much of a session's hash is its id.
const SessionIDLength = 12

// ID names the session for operators. It opens nothing.
func (s OperatorSession) ID() string { return s.Hash[:SessionIDLength] }

// OperatorSessions keeps the sessions of operators, for all instances and across restarts.
type OperatorSessions interface {
	// StartSession stores a session, and removes those that have expired.
	StartSession(ctx context.Context, s OperatorSession) error

	// OperatorSession returns the session with a hash, or [ErrNotFound].
	OperatorSession(ctx context.Context, hash string) (OperatorSession, error)

	// ClaimCheck claims the check of a session's role until a time, and reports whether the
	// check was due and not claimed by another request.
	ClaimCheck(ctx context.Context, hash string, now, until time.Time) (bool, error)

	// RenewSession stores address, role, refresh token and time of the next check, and gives
	// up the claim.
	RenewSession(ctx context.Context, s OperatorSession) error

	// EndSessions removes the sessions whose hash begins with a text and returns their
	// number.
	EndSessions(ctx context.Context, hash string) (int64, error)

	// ListSessions returns the sessions that have not expired, the newest first.
	ListSessions(ctx context.Context, now time.Time) ([]OperatorSession, error)
}
