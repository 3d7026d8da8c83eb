package schema

import (
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Error is a failure a client may see: what resolvers return and doors present.
// Any other error is presented as CodeInternal, with its text kept for the log.
type Error struct {
	Code       Code
	Message    string        // for the client; complete sentence
	Fields     []FieldError  // invalid fields, with CodeBadUserInput
	RetryAfter time.Duration // with CodeUpstreamUnavailable and CodeRateLimited
	Err        error         // cause, for the log only
}

// Error returns the message and the cause, for the log.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Keys of a GraphQL error's extensions.
const (
	ExtensionCode       = "code"       // Code
	ExtensionErrors     = "errors"     // []FieldError
	ExtensionRequestID  = "requestId"  // string
	ExtensionRetryAfter = "retryAfter" // int, seconds
)

// ErrorCode returns the code of a presented GraphQL error, CodeInternal where it has none.
func ErrorCode(err *gqlerror.Error) Code {
	switch code := err.Extensions[ExtensionCode].(type) {
	case Code:
		return code
	case string:
		return Code(code)
	default:
		return CodeInternal
	}
}
