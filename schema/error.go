package schema

import (
	"fmt"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Error is a failure that a client may see. Resolvers return it and both endpoints
// present it. Any other error is presented as CodeInternal, and its text appears only in
// the log.
type Error struct {
	Code       Code
	Message    string        // a complete sentence, for the client
	Fields     []FieldError  // the invalid fields, with CodeBadUserInput
	RetryAfter time.Duration // set with CodeUpstreamUnavailable and CodeRateLimited
	Err        error         // the cause, for the log only
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

// NewError returns an error with a code and a complete sentence for the client.
func NewError(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Internal returns the error of a failure that only the log describes.
func Internal(requestID string) *Error {
	return NewError(CodeInternal, "Something went wrong on our side. Request id: "+requestID)
}

// NeedsRole returns the error of an operator who lacks a role.
func NeedsRole(role Role) *Error {
	return NewError(CodeForbidden, "This needs the role "+string(role)+".")
}

// BadRequest returns the error of a request that is wrong as a whole rather than in one of
// its fields.
func BadRequest(message string) *Error { return NewError(CodeBadUserInput, message) }

// retrySoon is the RetryAfter of errors while a backend is down.
const retrySoon = 5 * time.Second

// BadInput returns the error of a request with invalid fields.
func BadInput(fields ...FieldError) *Error {
	return &Error{
		Code:    CodeBadUserInput,
		Message: "The request has invalid fields.",
		Fields:  fields,
	}
}

// Unavailable returns the error of a request that fails while a backend is down.
func Unavailable(message string, cause error) *Error {
	return &Error{
		Code:       CodeUpstreamUnavailable,
		Message:    message,
		RetryAfter: retrySoon,
		Err:        cause,
	}
}

// NotFound returns the error of a request for something that does not exist.
func NotFound(message string) *Error { return NewError(CodeNotFound, message) }

// RetrySeconds returns RetryAfter in whole seconds. It rounds up so that no client
// retries too early.
func (e *Error) RetrySeconds() int { return int((e.RetryAfter + time.Second - 1) / time.Second) }

// MaxFieldErrors is the maximum number of invalid fields that are reported for a request.
// The check stops when it has found that many.
const MaxFieldErrors = 20

// FieldError is one invalid field of a request.
type FieldError struct {
	// Field is the path of the field as the client sent it, such as "contact.email" or
	// "selections.features[2]".
	Field string `json:"field"`

	// Code is the reason why the field is invalid. Params holds the bounds to which the
	// code refers, such as {"max": 100}.
	Code   FieldCode      `json:"code"`
	Params map[string]any `json:"params,omitempty"`

	// Message describes the problem in English, without repeating the value.
	Message string `json:"message"`
}

// Invalid returns the error of a field without params.
func Invalid(field string, code FieldCode, message string) FieldError {
	return FieldError{Field: field, Code: code, Message: message}
}

// Required returns the error of a missing field.
func Required(field string) FieldError { return Missing(field, "is required") }

// Missing returns the error of a field that another field makes required. The message
// states when it is required.
func Missing(field, message string) FieldError { return Invalid(field, FieldCodeRequired, message) }

// Conflict returns the error of a field that cannot be given together with another one.
func Conflict(field, other, message string) FieldError {
	return bounded(field, FieldCodeConflict, "field", other, message)
}

// TooLong returns the error of a field with more than limit characters.
func TooLong(field string, limit int) FieldError {
	return bounded(field, FieldCodeTooLong, "max", limit,
		fmt.Sprintf("must have at most %d characters", limit))
}

// NotAllowed returns the error of a field with none of the allowed values.
func NotAllowed(field string, allowed []string) FieldError {
	message := "must be one of " + strings.Join(allowed, ", ")
	if len(allowed) == 0 {
		message = "has no allowed value"
	}
	return bounded(field, FieldCodeNotAllowed, "allowed", append([]string{}, allowed...), message)
}

// UnknownField returns the error of a field that does not exist, with the names of those
// that do.
func UnknownField(name string, known []string) FieldError {
	message := "is unknown: expected " + strings.Join(known, ", ")
	if len(known) == 0 {
		message = "is unknown: nothing is expected"
	}
	return Invalid(printable(name), FieldCodeUnknownField, message)
}

// bounded returns the error of a field with one named param, such as the bound that the
// field exceeds.
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

// ErrorCode returns the code of a presented GraphQL error, or CodeInternal if it has
// none.
func ErrorCode(err *gqlerror.Error) Code {
	if code, ok := err.Extensions[ExtensionCode]; ok {
		return Code(fmt.Sprint(code)) // a string or a Code
	}
	return CodeInternal
}
