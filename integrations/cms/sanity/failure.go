package sanity

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"siteapi/integrations/upstream"
)

// problem is an error in either of Sanity's shapes: an object under "error" from the data
// APIs, and flat fields from the proxies in front of them.
type problem struct {
	Error     json.RawMessage `json:"error"` // a dataError or a string
	ErrorCode string          `json:"errorCode"`
	Message   string          `json:"message"`
}

type dataError struct {
	cause
	Items []struct {
		Error cause `json:"error"`
	} `json:"items"`
}

type cause struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

// failure translates an unsuccessful answer, as the table in the package comment says.
// Private values are kept out of its text.
func (d *Driver) failure(op string, resp *upstream.Response, private ...string) error {
	var p problem
	if body := bytes.TrimSpace(resp.Body); len(body) > 0 && json.Unmarshal(body, &p) != nil {
		kind := upstream.Unavailable
		if resp.Status == http.StatusTooManyRequests {
			kind = upstream.Limited
		}
		return d.client.Failure(op, resp, kind, "the answer is not Sanity's: it is not JSON")
	}

	var kind upstream.Kind // empty for the general meaning of the status
	switch resp.Status {
	case http.StatusPaymentRequired, http.StatusNotFound:
		kind = upstream.Refused
	case http.StatusConflict:
		kind = upstream.Unavailable
	}

	var inner dataError
	_ = json.Unmarshal(p.Error, &inner) // empty for the flat shape

	detail := []string{p.ErrorCode, p.Message, inner.Type, inner.Description}
	for _, item := range inner.Items {
		detail = append(detail, item.Error.Type, item.Error.Description)
	}
	detail = slices.DeleteFunc(detail, func(s string) bool { return s == "" })
	return d.client.Failure(op, resp, kind, strings.Join(detail, ": "), private...)
}
