package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
)

// Problem is the body of every answer that is not a success (RFC 9457), of type
// application/problem+json.
type Problem struct {
	Type      string              `json:"type"`   // always about:blank
	Title     string              `json:"title"`  // the status in words
	Status    int                 `json:"status"` // the HTTP status
	Detail    string              `json:"detail"` // a sentence for people
	Code      schema.Code         `json:"code"`   // for programs
	Success   bool                `json:"success"`
	Errors    []schema.FieldError `json:"errors,omitempty"` // each invalid field
	RequestID string              `json:"requestId"`
}

// defaultRetryAfter is what a client is told to wait where nobody knows better.
const defaultRetryAfter = 5 * time.Second

// WriteProblem answers a request with a problem document. The text of an INTERNAL
// error is never sent. The Allow header of a 405 is the caller's to set beforehand.
func WriteProblem(w http.ResponseWriter, r *http.Request, requestID string, e *schema.Error) {
	schema.CallerFrom(r.Context()).Summary.Refuse(e.Code, e.Fields)
	status := e.Code.Status()
	p := Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.Message, Code: e.Code,
		Errors: e.Fields, RequestID: requestID,
	}
	if status == http.StatusInternalServerError {
		p.Code, p.Errors = schema.CodeInternal, nil
		p.Detail = internalDetail(requestID)
	}
	body, err := json.Marshal(p)
	if err != nil { // nothing in a Problem can fail to encode
		panic(err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(seconds(e.RetryAfter)))
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that is gone can't be told
	}
}

// internalDetail is all a client is told of a bug.
func internalDetail(requestID string) string {
	return "Something went wrong on our side. Request id: " + requestID
}

// seconds rounds up, so that nobody comes back too early.
func seconds(d time.Duration) int {
	if d <= 0 {
		d = defaultRetryAfter
	}
	return int((d + time.Second - 1) / time.Second)
}

// ProblemOf maps presented GraphQL errors to the one error a REST answer can tell: a
// missing token before anything else, then a bug, else what came first, with the
// invalid fields of all.
func ProblemOf(list gqlerror.List) *schema.Error {
	var chosen *schema.Error
	var fields []schema.FieldError
	for _, err := range list {
		e := fromGraphQL(err)
		fields = append(fields, e.Fields...)
		if chosen == nil || weight(e.Code) > weight(chosen.Code) {
			chosen = e
		}
	}
	if chosen == nil {
		return &schema.Error{Code: schema.CodeInternal, Err: errors.New("an empty list of errors")}
	}
	if chosen.Code == schema.CodeBadUserInput {
		chosen.Fields = fields
	}
	return chosen
}

// weight orders codes by what a client has to hear first: no secrets without a token, no
// bug hidden behind a mistake of the client.
func weight(c schema.Code) int {
	switch c {
	case schema.CodeUnauthenticated:
		return 2
	case schema.CodeInternal:
		return 1
	default:
		return 0
	}
}

// fromGraphQL reads what the executor's presenter has put into an error.
func fromGraphQL(err *gqlerror.Error) *schema.Error {
	e := &schema.Error{Code: schema.ErrorCode(err), Message: err.Message, Err: err}
	switch list := err.Extensions[schema.ExtensionErrors].(type) {
	case []schema.FieldError:
		e.Fields = list
	case nil:
	}
	switch after := err.Extensions[schema.ExtensionRetryAfter].(type) {
	case int:
		e.RetryAfter = time.Duration(after) * time.Second
	case int64:
		e.RetryAfter = time.Duration(after) * time.Second
	case float64:
		e.RetryAfter = time.Duration(after * float64(time.Second))
	}
	// The documents were validated at start: what a plain gqlgen executor calls invalid
	// now can only be a variable.
	if e.Code == errcode.ValidationFailed {
		e.Code = schema.CodeBadUserInput
		e.Fields = []schema.FieldError{{
			Field: variablePath(err.Path), Code: schema.FieldCodeUnreadable, Message: err.Message,
		}}
		e.Message = "The request has invalid fields."
	}
	return e
}

// variablePath drops the words in front that say nothing to a client of REST.
func variablePath(p ast.Path) string {
	if len(p) > 1 && p[0] == ast.PathName("variable") {
		p = p[1:]
	}
	if len(p) > 1 && p[0] == ast.PathName("input") {
		p = p[1:]
	}
	return p.String()
}
