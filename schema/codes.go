package schema

import "net/http"

// Code names a kind of failure. GraphQL sends it as `extensions.code`, REST as the
// problem's `code`.
type Code string

// The codes of the contract.
const (
	CodeBadUserInput         Code = "BAD_USER_INPUT"
	CodeUnauthenticated      Code = "UNAUTHENTICATED"
	CodeForbidden            Code = "FORBIDDEN"
	CodeNotFound             Code = "NOT_FOUND"
	CodeMethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	CodeConflict             Code = "CONFLICT"
	CodePayloadTooLarge      Code = "PAYLOAD_TOO_LARGE"
	CodeUnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeIdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"
	CodeRateLimited          Code = "RATE_LIMITED"
	CodeUpstreamUnavailable  Code = "UPSTREAM_UNAVAILABLE"
	CodeInternal             Code = "INTERNAL"
)

// statuses lists the codes in the order in which they are documented, each with its HTTP
// status at the REST endpoint.
var statuses = []struct {
	code   Code
	status int
}{
	{CodeBadUserInput, http.StatusBadRequest},
	{CodeUnauthenticated, http.StatusUnauthorized},
	{CodeForbidden, http.StatusForbidden},
	{CodeNotFound, http.StatusNotFound},
	{CodeMethodNotAllowed, http.StatusMethodNotAllowed},
	{CodeConflict, http.StatusConflict},
	{CodePayloadTooLarge, http.StatusRequestEntityTooLarge},
	{CodeUnsupportedMediaType, http.StatusUnsupportedMediaType},
	{CodeIdempotencyKeyReused, http.StatusUnprocessableEntity},
	{CodeRateLimited, http.StatusTooManyRequests},
	{CodeUpstreamUnavailable, http.StatusServiceUnavailable},
	{CodeInternal, http.StatusInternalServerError},
}

// Status returns the HTTP status of a code. It is 500 for an unknown code.
func (c Code) Status() int {
	for _, s := range statuses {
		if s.code == c {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// Codes lists every code, in the order in which they are documented.
func Codes() []Code {
	codes := make([]Code, len(statuses))
	for i, s := range statuses {
		codes[i] = s.code
	}
	return codes
}
