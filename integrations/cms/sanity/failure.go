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
// APIs, and flat fields from the proxies in front of them, whose "error" is a text.
type problem struct {
	Error struct {
		cause
		Items []struct{ Error cause }
	}
	ErrorCode, Message string
}

type cause struct{ Type, Description string }

// failure translates an unsuccessful answer, as the table in the package comment says.
// Private values are kept out of its text.
func (d *Driver) failure(op string, resp *upstream.Response, private ...string) error {
	var kind upstream.Kind // empty for the general meaning of the status
	body := bytes.TrimSpace(resp.Body)
	switch foreign := len(body) > 0 && !json.Valid(body); {
	case foreign && resp.Status != http.StatusTooManyRequests, resp.Status == http.StatusConflict:
		kind = upstream.Unavailable
	case resp.Status == http.StatusPaymentRequired, resp.Status == http.StatusNotFound:
		kind = upstream.Refused
	}

	var p problem
	_ = json.Unmarshal(body, &p) // the fields of another shape stay empty
	detail := []string{p.ErrorCode, p.Message, p.Error.Type, p.Error.Description}
	for _, item := range p.Error.Items {
		detail = append(detail, item.Error.Type, item.Error.Description)
	}
	detail = slices.DeleteFunc(detail, func(s string) bool { return s == "" })
	return d.client.Failure(op, resp, kind, strings.Join(detail, ": "), private...)
}
