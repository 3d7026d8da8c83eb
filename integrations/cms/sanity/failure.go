package sanity

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"siteapi/integrations/upstream"
)

// problem is an error in either of Sanity's formats: the data APIs send an object under
// "error"; the proxies in front of them send flat fields, with a string under "error".
type problem struct {
	Error struct {
		cause
		Items []struct{ Error cause }
	}
	ErrorCode, Message string
}

type cause struct{ Type, Description string }

// failure translates an unsuccessful response according to the table in the package
// comment. Private values are kept out of its text.
func (d *Driver) failure(op string, resp *upstream.Response, private ...string) error {
	var kind upstream.Kind // empty: derived from the status
	body := bytes.TrimSpace(resp.Body)
	switch foreign := len(body) > 0 && !json.Valid(body); {
	case foreign && resp.Status != http.StatusTooManyRequests, resp.Status == http.StatusConflict:
		kind = upstream.Unavailable
	case resp.Status == http.StatusPaymentRequired, resp.Status == http.StatusNotFound:
		kind = upstream.Refused
	}

	var p problem
	_ = json.Unmarshal(body, &p) // fields of the other format stay empty
	detail := []string{p.ErrorCode, p.Message, p.Error.Type, p.Error.Description}
	for _, item := range p.Error.Items {
		detail = append(detail, item.Error.Type, item.Error.Description)
	}
	detail = slices.DeleteFunc(detail, func(s string) bool { return s == "" })
	return d.client.Failure(op, resp, kind, strings.Join(detail, ": "), private...)
}
