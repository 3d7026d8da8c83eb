package schema

import (
	"fmt"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Error is a failure that a client may see: what resolvers return and both endpoints present.
// Any other error is presented as CodeInternal, with its text in the log only.
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

// Extensions returns the extensions of a GraphQL error.
func (e *Error) Extensions(requestID string) map[string]any {
	extensions := map[string]any{ExtensionCode: string(e.Code), ExtensionRequestID: requestID}
	if len(e.Fields) > 0 {
		extensions[ExtensionErrors] = e.Fields
	}
	if e.RetryAfter > 0 {
		extensions[ExtensionRetryAfter] = e.RetrySeconds()
	}
	return extensions
}

// RetrySeconds returns RetryAfter in whole seconds, rounded up so that no client retries too early.
func (e *Error) RetrySeconds() int { return int((e.RetryAfter + time.Second - 1) / time.Second) }

// MaxFieldErrors is how many invalid fields of a request are reported; looking for more stops there.
const MaxFieldErrors = 20

// FieldError is one invalid field of a request.
type FieldError struct {
	// Field is the path of the field as the client sent it, such as "contact.email" or "selections.features[2]".
	Field string `json:"field"`
	// Code says what is wrong with it. Params has the bounds that the code speaks of, such as {"max": 100}.
	Code   FieldCode      `json:"code"`
	Params map[string]any `json:"params,omitempty"`
	// Message says it in English, without repeating the value.
	Message string `json:"message"`
}

// Required says that a field is missing.
func Required(field string) FieldError {
	return FieldError{Field: field, Code: FieldCodeRequired, Message: "is required"}
}

// TooLong says that a field has more than limit characters.
func TooLong(field string, limit int) FieldError {
	return bounded(
		field,
		FieldCodeTooLong,
		"max",
		limit,
		fmt.Sprintf("must have at most %d characters", limit),
	)
}

// NotAllowed says that a field has none of the allowed values.
func NotAllowed(field string, allowed []string) FieldError {
	message := "must be one of " + strings.Join(allowed, ", ")
	if len(allowed) == 0 {
		message = "has no allowed value"
	}
	return bounded(field, FieldCodeNotAllowed, "allowed", append([]string{}, allowed...), message)
}

// bounded says that a field breaks a bound, which is among the params under a name.
func bounded(field string, code FieldCode, name string, bound any, message string) FieldError {
	return FieldError{Field: field, Code: code, Params: map[string]any{name: bound}, Message: message}
}

// Keys of a GraphQL error's extensions.
const (
	ExtensionCode       = "code"       // Code
	ExtensionErrors     = "errors"     // []FieldError
	ExtensionRequestID  = "requestId"  // string
	ExtensionRetryAfter = "retryAfter" // int, seconds
)

// ErrorCode returns the code of a presented GraphQL error, CodeInternal where it has none.
func ErrorCode(err *gqlerror.Error) Code {
	if code, ok := err.Extensions[ExtensionCode]; ok {
		return Code(fmt.Sprint(code)) // a string or a Code
	}
	return CodeInternal
}
