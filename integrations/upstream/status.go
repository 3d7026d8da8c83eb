package upstream

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that a system may request, so that a broken header cannot
// delay a lead for years.
const maxRetryAfter = 24 * time.Hour

// StatusKind returns the kind of a status. Drivers that know better override it.
//
//	401, 403, 407            Refused
//	429                      Limited
//	408, 421, 423, 425, 5xx  Unavailable
//	3xx                      Unavailable, because another server answers at this address
//	all other 4xx            Rejected
//
// The result is empty for 2xx. Any status outside this list, such as 0 if there was none,
// is Unavailable.
func StatusKind(status int) Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return Refused
	case http.StatusTooManyRequests:
		return Limited
	case http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusLocked, http.StatusTooEarly:
		return Unavailable
	}

	switch status / 100 {
	case 2:
		return ""
	case 4:
		return Rejected
	}
	return Unavailable
}

// Failure returns the error for an unsuccessful response. An empty kind means the kind of
// the status, or Unavailable if the status means success. The detail is redacted, including
// the private values, which the system may repeat in it.
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

// retryAfter reads the Retry-After header, which holds seconds or an HTTP date. A date is
// compared with the response's own Date if it has one, because clocks differ. The result
// is at most a day, and 0 if there is no usable value.
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
