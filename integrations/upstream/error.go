// Package upstream is the HTTP client that the drivers of remote systems share, and the
// errors they return. The client bounds a call's time and the size of an answer, follows no
// redirect (a token must not travel to another address), and keeps addresses with queries,
// tokens and e-mail addresses out of its errors. Every failure is an [Error], by whose
// [Kind] the queue of deliveries decides whether and when to try again.
//
// [Client.Do] succeeds with an answer of any status; a driver judges it with [StatusKind]
// and [Client.Failure].
package upstream

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what a failure means for the caller.
type Kind string

// The kinds of failure.
const (
	// Unavailable is a transient failure: time-outs, resets, 5xx. Try again later.
	Unavailable Kind = "unavailable"
	// Limited means too many requests. Try again after RetryAfter or Pause.
	Limited Kind = "limited"
	// Refused means the credentials were not accepted: every call fails until an
	// operator changes a setting.
	Refused Kind = "refused"
	// Rejected means this request can't succeed however often it is repeated.
	Rejected Kind = "rejected"
)

// Error is a failed call to a remote system. Its text holds no personal data and no
// credentials, so it may be logged and stored.
type Error struct {
	System     string        // "sanity", "hubspot", "file"
	Op         string        // what was tried, as in "storing the submission"
	Kind       Kind          //
	Status     int           // HTTP status, 0 where there was none
	RetryAfter time.Duration // what the system asked for; 0: nothing
	Pause      time.Duration // what the driver assumes of a limit where the system asked for nothing
	Detail     string        // redacted explanation for an operator
	Err        error         // cause; nil, or free of personal data as well
}

// Error names the system, what was being done and what went wrong.
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

// KindOf returns the kind of err. An error that isn't an [Error] is Unavailable:
// an unknown failure is retried.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Unavailable
}
