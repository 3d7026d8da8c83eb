// Package upstream is the HTTP client that the drivers of remote systems share, and the
// errors that they return. The client limits the time of a call and the size of a
// response. It follows no redirects, so that a token is never sent to another address, and
// its errors contain no addresses with queries, tokens or e-mail addresses. Every failure is
// an [Error], and its [Kind] decides whether and when the delivery queue retries.
//
// [Client.Do] succeeds with a response of any status. The driver turns the status into
// an error with [StatusKind] and [Client.Failure].
package upstream

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the meaning of a failure for the caller.
type Kind string

// The kinds of failure.
const (
	// Unavailable is a transient failure, such as a timeout, a reset or a 5xx. Retry later.
	Unavailable Kind = "unavailable"

	// Limited means too many requests. Retry after RetryAfter or Pause.
	Limited Kind = "limited"

	// Refused means that the credentials were not accepted. Every call fails until an
	// operator changes a setting.
	Refused Kind = "refused"

	// Rejected means that this request cannot succeed, however often it is repeated.
	Rejected Kind = "rejected"
)

// Error is a failed call to a remote system. Its text holds no personal data and no
// credentials, so it may be logged and stored.
type Error struct {
	System     string        // "sanity", "hubspot", "file"
	Op         string        // the attempted operation, such as "storing the lead"
	Kind       Kind          // decides whether and when to retry
	Status     int           // HTTP status, or 0 if there was none
	RetryAfter time.Duration // the wait that the system requested, or 0
	Pause      time.Duration // the wait that the driver sets if the system requested none, or 0
	Detail     string        // redacted explanation for an operator
	Err        error         // the cause, which is nil or free of personal data
}

// Error names the system, the operation and the problem.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s: %s", e.System, e.Op, e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}

	if e.Detail != "" {
		s += ": " + e.Detail
	}

	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err. An error that isn't an [Error] is Unavailable, so that
// unknown failures are retried.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Unavailable
}
