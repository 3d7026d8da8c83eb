package upstream

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"
)

// Defaults of [Options].
const (
	DefaultTimeout   = 10 * time.Second
	DefaultMaxBody   = 8 << 20
	DefaultRetryWait = 200 * time.Millisecond
)

// Options describes a remote system.
type Options struct {
	// System names it in errors and observations, as in "sanity".
	System string
	// BaseURL is where it lives: scheme, host and a path prefix if there is one.
	BaseURL string
	// Token is sent as "Authorization: Bearer". Empty: none.
	Token string
	// Timeout bounds a whole call: connecting, sending, waiting, reading the body, and
	// all retries. 0: DefaultTimeout.
	Timeout time.Duration
	// MaxBody is how many bytes of an answer are read, after decompression, before the
	// call fails. 0: DefaultMaxBody.
	MaxBody int
	// Retries is how often a safe read (GET, HEAD, or a request marked Safe) is tried
	// again after a transport error, 429 or 5xx. 0: never.
	Retries int
	// RetryWait is the wait before the first retry; it doubles with each further one and
	// yields to a Retry-After. 0: DefaultRetryWait.
	RetryWait time.Duration
	// Transport carries the requests. nil: one of its own, from [NewTransport].
	Transport http.RoundTripper
	// Observe is told of every finished call, for metrics and logs. nil: not called.
	Observe func(ctx context.Context, c Call)
	// Now tells the time. nil: time.Now.
	Now func() time.Time
}

// Client calls one remote system. It may be used concurrently.
type Client struct {
	opts  Options
	resty *resty.Client
}

// New returns a client. It does no I/O; a BaseURL that is not an address shows as an
// error of kind Refused at the first call.
func New(opts Options) *Client {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.MaxBody <= 0 {
		opts.MaxBody = DefaultMaxBody
	}
	if opts.RetryWait <= 0 {
		opts.RetryWait = DefaultRetryWait
	}
	if opts.Transport == nil {
		opts.Transport = NewTransport()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	c := &Client{opts: opts}

	// No cookie jar, and a redirect is handed back as the answer it is.
	rc := resty.NewWithClient(&http.Client{
		Transport: opts.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	})
	rc.SetBaseURL(strings.TrimRight(opts.BaseURL, "/"))
	rc.SetHeader("User-Agent", "siteapi")
	rc.SetHeader("Accept", "application/json")
	rc.SetResponseBodyLimit(opts.MaxBody)
	// resty's own log lines hold whole addresses.
	rc.SetLogger(silent{}).SetDisableWarn(true)
	if opts.Retries > 0 {
		c.retry(rc)
	}
	c.resty = rc
	return c
}

// Now returns the client's idea of the time.
func (c *Client) Now() time.Time { return c.opts.Now() }

// problem names what is wrong with the settings, or returns "".
func (c *Client) problem() string {
	base, err := url.Parse(c.opts.BaseURL)
	switch {
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		return "the base address is not an http or https URL"
	case base.RawQuery != "" || base.Fragment != "":
		return "the base address must have neither query nor fragment"
	case strings.ContainsFunc(c.opts.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "the token holds characters that no token has"
	}
	return ""
}

// silent drops resty's log lines.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
