package upstream

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what a system may ask for: a broken header must not delay a
// lead for years.
const maxRetryAfter = 24 * time.Hour

// StatusKind is what a status means where the driver does not know better:
//
//	401, 403, 407            Refused
//	429                      Limited
//	408, 421, 423, 425, 5xx  Unavailable
//	3xx                      Unavailable: another server answers at this address
//	all other 4xx            Rejected
//
// A status below 300 has no kind: the answer is empty.
func StatusKind(status int) Kind {
	switch {
	case status >= 200 && status < 300:
		return ""
	case status == http.StatusUnauthorized,
		status == http.StatusForbidden,
		status == http.StatusProxyAuthRequired:
		return Refused
	case status == http.StatusTooManyRequests:
		return Limited
	case status == http.StatusRequestTimeout, status == http.StatusMisdirectedRequest,
		status == http.StatusLocked, status == http.StatusTooEarly:
		return Unavailable
	case status >= 400 && status < 500:
		return Rejected
	}
	return Unavailable
}

// Failure returns the error for an unsuccessful answer. An empty kind means that of the
// status, or Unavailable where the status is that of a success.
// Detail is redacted; personal values the system may echo are given as private.
func (c *Client) Failure(op string, resp *Response, kind Kind, detail string, private ...string) *Error {
	return &Error{
		System:     c.opts.System,
		Op:         op,
		Kind:       cmp.Or(kind, StatusKind(resp.Status), Unavailable),
		Status:     resp.Status,
		RetryAfter: retryAfter(resp.Header, time.Now()),
		Detail:     Redact(detail, append(private, c.opts.Token)...),
	}
}

// retryAfter reads the header of that name, in seconds or as an HTTP date; a date is
// measured against the answer's own Date where it has one, since clocks differ. It
// returns 0 where there is no usable value, and at most a day.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
