package gqlhttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"siteapi/schema"
)

// Codes beside those of the schema package, which only this door has.
const (
	// CodePersistedQueryNotFound asks an APQ client to send the whole document.
	CodePersistedQueryNotFound schema.Code = "PERSISTED_QUERY_NOT_FOUND"
	// CodePersistedQueryNotSupported tells an APQ client to stop sending hashes.
	CodePersistedQueryNotSupported schema.Code = "PERSISTED_QUERY_NOT_SUPPORTED"
	// CodeNotTrusted refuses a document that is not on the list of trusted ones.
	CodeNotTrusted schema.Code = "QUERY_NOT_IN_SAFELIST"
)

// refusal is an answer of the door itself: nothing was executed. Its message never
// repeats what was sent.
type refusal struct {
	status     int  // HTTP status
	wellFormed bool // the request could be read: application/json clients get status 200
	code       schema.Code
	message    string
	allow      string        // Allow header, with 405
	retryAfter time.Duration // Retry-After header
}

func badRequest(message string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: schema.CodeBadUserInput, message: message}
}

// badDocument is a refusal of what a well-formed request asks for.
func badDocument(message string) *refusal {
	return &refusal{status: http.StatusBadRequest, wellFormed: true, code: schema.CodeBadUserInput, message: message}
}

// refuse answers with an error of the door.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, m media, e *refusal) {
	status := e.status
	if m == mediaJSON && e.wellFormed {
		status = http.StatusOK
	}
	b := h.buffer()
	defer h.release(b)
	b.data = appendError(b.data, e.code, e.message, h.callerOf(w, r).RequestID, e.retryAfter)
	if e.allow != "" {
		w.Header().Set("Allow", e.allow)
	}
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds(e.retryAfter)))
	}
	writeUncached(w, m, status, b.data)
	schema.CallerFrom(r.Context()).Summary.Refuse(e.code, nil)
	h.tell(w, r, Event{Outcome: Refused, Code: e.code, Status: status})
}

// WriteError answers a GraphQL request with an error of the server around the door,
// such as a rate limit, in the shape and media type the client expects.
func WriteError(w http.ResponseWriter, r *http.Request, requestID string, e *schema.Error) {
	m, _ := negotiate(r.Header["Accept"])
	schema.CallerFrom(r.Context()).Summary.Refuse(e.Code, e.Fields)
	body := appendError(nil, e.Code, e.Message, requestID, e.RetryAfter)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds(e.RetryAfter)))
	}
	writeUncached(w, m, e.Code.Status(), body)
}

func appendError(dst []byte, code schema.Code, message, requestID string, retry time.Duration) []byte {
	dst = append(dst, `{"errors":[{"message":`...)
	dst = appendString(dst, message)
	dst = append(dst, `,"extensions":{"code":`...)
	dst = appendString(dst, string(code))
	dst = append(dst, `,"requestId":`...)
	dst = appendString(dst, requestID)
	if retry > 0 {
		dst = append(dst, `,"retryAfter":`...)
		dst = strconv.AppendInt(dst, int64(seconds(retry)), 10)
	}
	return append(dst, "}}]}"...)
}

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	quoted, _ := jsontext.AppendQuote(dst, s) // its only error is about UTF-8
	return quoted
}

// seconds rounds up, so that a client never comes back too early.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
