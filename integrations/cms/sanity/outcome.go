package sanity

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"siteapi/integrations/upstream"
)

// Failures of a transaction that may be what was wanted. They are the cause of an
// *upstream.Error.
var (
	errExists = errors.New("the document exists")
	errAbsent = errors.New("the document does not exist")
)

// problem is an error in either of Sanity's shapes: an object under "error" from the
// data APIs, and flat fields from what stands in front of them.
type problem struct {
	Error     json.RawMessage `json:"error"`
	ErrorCode string          `json:"errorCode"`
	Message   string          `json:"message"`
}

// dataError is the object under "error".
type dataError struct {
	Type        string `json:"type"`
	Description string `json:"description"`
	Items       []struct {
		Error struct {
			Type        string `json:"type"`
			Description string `json:"description"`
		} `json:"error"`
	} `json:"items"`
}

// judge returns nil for a success and else what the table of the package comment says.
// Private values are kept out of the error's text.
func (d *Driver) judge(op string, resp *upstream.Response, private ...string) error {
	if resp.Status >= 200 && resp.Status < 300 {
		return nil
	}
	var p problem
	body := bytes.TrimSpace(resp.Body)
	if len(body) > 0 && json.Unmarshal(body, &p) != nil {
		kind := upstream.Unavailable
		if resp.Status == http.StatusTooManyRequests {
			kind = upstream.Limited
		}
		return d.client.Failure(op, resp, kind, "the answer is not Sanity's: it is not JSON")
	}
	var inner dataError
	_ = json.Unmarshal(p.Error, &inner) // a string in the flat shape
	e := d.client.Failure(op, resp, kindOf(resp.Status), p.text(inner), private...)
	e.Err = inner.cause()
	return e
}

// kindOf is where Sanity's statuses mean something else than usual. Empty: they don't.
func kindOf(status int) upstream.Kind {
	switch status {
	case http.StatusPaymentRequired, http.StatusNotFound:
		return upstream.Refused
	case http.StatusConflict:
		return upstream.Unavailable
	}
	return ""
}

// cause returns errExists or errAbsent if that is all that was wrong, else nil.
func (e dataError) cause() error {
	var cause error
	for _, item := range e.Items {
		var this error
		switch item.Error.Type {
		case "documentAlreadyExistsError":
			this = errExists
		case "documentNotFoundError":
			this = errAbsent
		}
		if this == nil || cause != nil && !errors.Is(cause, this) {
			return nil
		}
		cause = this
	}
	return cause
}

// text puts together what an operator wants to read.
func (p problem) text(inner dataError) string {
	parts := []string{p.ErrorCode, p.Message, inner.Type, inner.Description}
	for _, item := range inner.Items[:min(len(inner.Items), 3)] {
		parts = append(parts, item.Error.Type, item.Error.Description)
	}
	kept := parts[:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ": ")
}

// odd is an answer that claims success but is not what was asked for.
func (d *Driver) odd(op string, resp *upstream.Response, detail string) error {
	return d.client.Failure(op, resp, upstream.Unavailable, detail)
}
