package schema

import "net/http"

// Code names a kind of failure. It is the same through GraphQL, where it stands in
// `extensions.code`, and through REST, where it is the problem's `code`.
type Code string

// The codes of the contract, with the HTTP status each has at the REST door.
const (
	CodeBadUserInput         Code = "BAD_USER_INPUT"         // 400
	CodeUnauthenticated      Code = "UNAUTHENTICATED"        // 401
	CodeNotFound             Code = "NOT_FOUND"              // 404
	CodeMethodNotAllowed     Code = "METHOD_NOT_ALLOWED"     // 405
	CodePayloadTooLarge      Code = "PAYLOAD_TOO_LARGE"      // 413
	CodeUnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE" // 415
	CodeIdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED" // 422
	CodeRateLimited          Code = "RATE_LIMITED"           // 429
	CodeUpstreamUnavailable  Code = "UPSTREAM_UNAVAILABLE"   // 503
	CodeInternal             Code = "INTERNAL"               // 500
)

// Status returns the HTTP status of a code at the REST door, 500 for an unknown one.
func (c Code) Status() int {
	switch c {
	case CodeBadUserInput:
		return http.StatusBadRequest
	case CodeUnauthenticated:
		return http.StatusUnauthorized
	case CodeNotFound:
		return http.StatusNotFound
	case CodeMethodNotAllowed:
		return http.StatusMethodNotAllowed
	case CodePayloadTooLarge:
		return http.StatusRequestEntityTooLarge
	case CodeUnsupportedMediaType:
		return http.StatusUnsupportedMediaType
	case CodeIdempotencyKeyReused:
		return http.StatusUnprocessableEntity
	case CodeRateLimited:
		return http.StatusTooManyRequests
	case CodeUpstreamUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// Codes lists every code, in the order they are documented.
func Codes() []Code {
	return []Code{
		CodeBadUserInput, CodeUnauthenticated, CodeNotFound, CodeMethodNotAllowed, CodePayloadTooLarge,
		CodeUnsupportedMediaType, CodeIdempotencyKeyReused, CodeRateLimited, CodeUpstreamUnavailable, CodeInternal,
	}
}
