package rest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"

	"siteapi/schema"
	"siteapi/schema/request"
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

// NewProblem returns the problem document of an error. The text of an INTERNAL error is
// never sent.
func NewProblem(e *schema.Error, requestID string) Problem {
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
		p.Detail = schema.Internal(requestID).Message
	}
	return p
}

// WriteProblem responds to a request with a problem document. For a 405 the caller sets
// the Allow header first, and for a 401 the WWW-Authenticate header if it says more than the
// scheme.
func WriteProblem(w http.ResponseWriter, r *http.Request, e *schema.Error) {
	p := problemOf(w, r, e)
	body, _ := json.Marshal(p) //nolint:errchkjson // params are strings and numbers
	w.Header().Set("Content-Type", "application/problem+json")
	request.WriteBody(w, r, p.Status, body)
}

// problemOf records a refused request, sets the headers of its response, and returns the
// problem.
func problemOf(w http.ResponseWriter, r *http.Request, e *schema.Error) Problem {
	ctx := r.Context()
	request.RecordFrom(ctx).Refuse(e.Code, e.Fields)
	p := NewProblem(e, request.CallerFrom(ctx).RequestID)

	h := w.Header()
	h.Set("Cache-Control", "no-store")

	switch p.Status {
	case http.StatusUnauthorized:
		if h.Get("WWW-Authenticate") == "" {
			h.Set("WWW-Authenticate", "Bearer")
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		// The default, in seconds, is for errors without a RetryAfter.
		h.Set("Retry-After", strconv.Itoa(cmp.Or(e.RetrySeconds(), 5)))
	}
	return p
}
