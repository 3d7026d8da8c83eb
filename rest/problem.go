package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
	"siteapi/schema/coding"
)

// Problem is the body of every response that is not a success (RFC 9457). Its media type
// is application/problem+json.
type Problem struct {
	Type      string              `json:"type"`             // always about:blank
	Title     string              `json:"title"`            // the status in words
	Status    int                 `json:"status"`           // the HTTP status
	Detail    string              `json:"detail"`           // a sentence for people
	Code      schema.Code         `json:"code"`             // the reason, for programs
	Success   bool                `json:"success"`          // always false
	Errors    []schema.FieldError `json:"errors,omitempty"` // the invalid fields
	RequestID string              `json:"requestId"`
}

// newProblem returns the problem document of an error. The text of an INTERNAL error is
// never sent.
func newProblem(e *schema.Error, requestID string) Problem {
	status := e.Code.Status()
	p := Problem{
		Type:      "about:blank",
		Title:     http.StatusText(status),
		Status:    status,
		Detail:    e.Message,
		Code:      e.Code,
		Errors:    e.Fields,
		RequestID: requestID,
	}

	if status == http.StatusInternalServerError {
		p.Code, p.Errors = schema.CodeInternal, nil
		p.Detail = "Something went wrong on our side. Request id: " + requestID
	}
	return p
}

// WriteProblem responds to a request with a problem document. For a 405 the caller sets
// the Allow header first.
func WriteProblem(w http.ResponseWriter, r *http.Request, e *schema.Error) {
	ctx := r.Context()
	schema.RecorderFrom(ctx).Refused(e.Code, e.Fields)
	p := newProblem(e, schema.CallerFrom(ctx).RequestID)

	body, err := json.Marshal(p)
	if err != nil { // No field of a Problem can fail to encode.
		panic(err)
	}

	h := w.Header()
	h.Set("Cache-Control", "no-store")

	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		// The default, in seconds, is for errors that have no time of their own.
		h.Set("Retry-After", strconv.Itoa(cmp.Or(e.RetrySeconds(), 5)))
	}

	h.Set("Content-Type", "application/problem+json")
	coding.Write(w, r, p.Status, coding.NewBody(body))
}

// problemOf reduces presented GraphQL errors to the one error of a REST response. A
// missing token comes first, then a bug, then the first error of the list. The invalid
// fields are those of all errors.
func problemOf(list gqlerror.List) *schema.Error {
	chosen := &schema.Error{Code: schema.CodeInternal, Err: errors.New("an empty list of errors")}
	var fields []schema.FieldError

	// Callers without a token learn nothing else, and a bug is never hidden behind a
	// client's error.
	precedence := map[schema.Code]int{schema.CodeUnauthenticated: 2, schema.CodeInternal: 1}

	for i, err := range list {
		e := fromGraphQL(err)
		fields = append(fields, e.Fields...)
		if i == 0 || precedence[e.Code] > precedence[chosen.Code] {
			chosen = e
		}
	}

	if chosen.Code == schema.CodeBadUserInput {
		chosen.Fields = fields[:min(len(fields), schema.MaxFieldErrors)]
	}
	return chosen
}

// fromGraphQL reads the members that the executor's presenter adds to an error.
func fromGraphQL(err *gqlerror.Error) *schema.Error {
	e := &schema.Error{Code: schema.ErrorCode(err), Message: err.Message, Err: err}
	e.Fields, _ = err.Extensions[schema.ExtensionErrors].([]schema.FieldError)
	after, _ := err.Extensions[schema.ExtensionRetryAfter].(int)
	e.RetryAfter = time.Duration(after) * time.Second
	return e
}
