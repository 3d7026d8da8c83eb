package upstream_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/upstream"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		header, date string
		want         time.Duration
	}{
		"none":     {"", "", 0},
		"seconds":  {"120", "", 2 * time.Minute},
		"negative": {"-5", "", 0},
		"overflow": {"9223372036854775807", "", 24 * time.Hour},
		"date": {
			"Sun, 01 Mar 2026 12:01:30 GMT", "Sun, 01 Mar 2026 12:00:00 GMT", 90 * time.Second,
		},
		"date past": {"Sun, 01 Mar 2026 11:00:00 GMT", "", 0},
		"other clock": {
			"Sun, 01 Mar 2026 15:00:10 GMT", "Sun, 01 Mar 2026 15:00:00 GMT", 10 * time.Second,
		},
	} {
		h := http.Header{}
		h.Set("Retry-After", tc.header)
		h.Set("Date", tc.date)

		c := upstream.New(upstream.Options{})
		if got := c.Failure("",
			&upstream.Response{Status: 429, Header: h}, "", "").RetryAfter; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()

	c := upstream.New(upstream.Options{System: "stub", BaseURL: "http://stub", Token: "sk-very-secret"})
	limited := &upstream.Response{Status: 429, Header: http.Header{"Retry-After": {"3"}}}

	e := c.Failure("asking", limited, "", "sk-very-secret of Ana refused", "Ana")
	if e.Kind != upstream.Limited || e.RetryAfter != 3*time.Second || e.Status != 429 || e.System != "stub" {
		t.Errorf("got %+v", e)
	}
	if e.Detail != "[redacted] of [redacted] refused" {
		t.Errorf("detail %q", e.Detail)
	}

	if e := c.Failure("asking",
		&upstream.Response{Status: 404}, upstream.Refused, ""); e.Kind != upstream.Refused {
		t.Errorf("the driver's kind was ignored: %v", e)
	}

	if e := c.Failure("asking",
		&upstream.Response{Status: 200}, "", "odd"); e.Kind != upstream.Unavailable {
		t.Errorf("an unexpected status 200 is %s, want unavailable", e.Kind)
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()

	for in, want := range map[string]string{
		"plain words":                             "plain words",
		"user ana.pop+x@example.co.uk exists":     "user [e-mail] exists",
		"at /contacts/ana%40example.com":          "at /contacts/[e-mail]",
		"see https://x.test/a?email=a@b.co&z#f .": "see https://x.test/a?[redacted] .",
		"see https://u:p@x.test/a":                "see https://x.test/a",
		"Authorization: Bearer abcdefgh12345":     "Authorization: Bearer [redacted]",
		"token=abcdefgh12345":                     "token [redacted]",
		"call +40 721 000 111 now":                "call [phone] now",
		"a\x00b\r\nc\ufffd":                       "a b c",
		"IONESCU and ionescu":                     "[redacted] and [redacted]",
		"Al said all":                             "[redacted] said all",
	} {
		if got := upstream.Redact(in, "Ionescu", "al", "", " "); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}

	if got := upstream.Redact(strings.Repeat("ș", 1<<20)); len([]rune(got)) != 301 {
		t.Errorf("got %d characters, want 301", len([]rune(got)))
	}
}
