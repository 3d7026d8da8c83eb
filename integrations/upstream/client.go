package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"
)

// Options describes a remote system.
type Options struct {
	System    string            // name in errors and observations, such as "sanity"
	BaseURL   string            // scheme, host, and a path prefix if there is one
	Token     string            // sent as "Authorization: Bearer"; empty for none
	Timeout   time.Duration     // limit of a whole call; 0 means 10 s
	MaxBody   int               // limit of a response after decompression, in bytes; 0 means 8 MiB
	Transport http.RoundTripper // nil for a transport of the client's own

	// Observe is called after every call, for metrics. It may be nil.
	Observe func(ctx context.Context, c Call)
}

// Request is one call.
type Request struct {
	// Op names the purpose in errors and observations, such as "storing the lead".
	Op     string
	Method string      // empty for GET
	Path   string      // appended to the base address; begins with a slash and is already escaped
	Query  url.Values  // unescaped
	Header http.Header // added to the client's own

	// Body is sent as JSON, except that a []byte is sent unchanged. There is no body if
	// it is nil.
	Body any

	// Anonymous leaves the token out.
	Anonymous bool

	// Safe marks a request that changes nothing although its method is POST. Like a GET
	// it is sent again if a connection that was kept open turns out to be closed.
	Safe bool
}

// Response is a response of any status, with its body read to the end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Decode reads the body as one JSON value into v.
func (r *Response) Decode(v any) error { return json.Unmarshal(r.Body, v) }

// Call describes a finished call to an observer. It contains no personal data.
type Call struct {
	System   string
	Op       string
	Kind     Kind // kind of the failure; empty for a status below 300
	Duration time.Duration
}

// Client calls one remote system. It is safe for concurrent use.
type Client struct {
	opts  Options
	resty *resty.Client
}

// New returns a client. It does no I/O.
func New(opts Options) *Client {
	opts.Timeout, opts.MaxBody = cmp.Or(opts.Timeout, 10*time.Second), cmp.Or(opts.MaxBody, 8<<20)

	if opts.Transport == nil {
		opts.Transport = newTransport()
	}

	// The client has no cookie jar, and it returns a redirect instead of following it.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	rc := resty.NewWithClient(&http.Client{
		Transport:     traced(opts.System, opts.Transport),
		CheckRedirect: stay,
	})

	rc.SetBaseURL(strings.TrimRight(opts.BaseURL, "/")).SetResponseBodyLimit(opts.MaxBody)
	rc.SetHeader("User-Agent", "siteapi").SetHeader("Accept", "application/json")
	rc.SetLogger(silent{}).SetDisableWarn(true)
	return &Client{opts, rc}
}

// silent drops resty's own log lines, which contain whole addresses.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

// newTransport returns the transport that a client uses by default. It honours
// HTTPS_PROXY and NO_PROXY.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        60 * time.Second,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Do makes one call. An error is an *Error and means that no complete response arrived.
// It does not tell whether the system acted on the request.
func (c *Client) Do(ctx context.Context, req Request) (*Response, error) {
	call, began := Call{System: c.opts.System, Op: req.Op}, time.Now()
	resp, err := c.do(ctx, req)

	if err != nil {
		call.Kind = err.Kind
	} else {
		call.Kind = StatusKind(resp.Status)
	}

	if call.Duration = time.Since(began); c.opts.Observe != nil {
		c.opts.Observe(ctx, call)
	}

	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (c *Client) do(ctx context.Context, req Request) (*Response, *Error) {
	body, err := encode(req.Body)
	// A path without a slash would send the token to another host.
	if err != nil || !strings.HasPrefix(req.Path, "/") {
		return nil, &Error{
			System: c.opts.System,
			Op:     req.Op,
			Kind:   Rejected,
			Detail: "the request can't be made",
		}
	}

	limited, cancel := context.WithTimeout(context.WithValue(ctx, opKey{}, req.Op), c.opts.Timeout)
	defer cancel()

	r := c.resty.R().SetContext(limited).SetQueryParamsFromValues(req.Query)
	if body != nil {
		r.SetHeader("Content-Type", "application/json").SetBody(body)
	}

	if c.opts.Token != "" && !req.Anonymous {
		r.SetAuthToken(c.opts.Token)
	}

	if req.Safe {
		r.Header["Idempotency-Key"] = nil // marks the request as safe for net/http and is not sent
	}

	got, err := r.SetHeaderMultiValues(req.Header).Execute(cmp.Or(req.Method, http.MethodGet), req.Path)
	if err != nil {
		return nil, c.incomplete(ctx, req.Op, got, err)
	}
	return &Response{Status: got.StatusCode(), Header: got.Header(), Body: got.Body()}, nil
}

func encode(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	}
	return json.Marshal(body)
}

// incomplete returns the error of a call without a complete response. It uses only the
// header of the response, because the missing body might have changed the outcome.
func (c *Client) incomplete(ctx context.Context, op string, got *resty.Response, err error) *Error {
	e := &Error{System: c.opts.System, Op: op, Kind: Unavailable}
	if got != nil && got.RawResponse != nil {
		e.Status, e.RetryAfter = got.StatusCode(), retryAfter(got.Header(), time.Now())
	}

	if e.Status == http.StatusTooManyRequests {
		e.Kind = Limited
	}

	// The error that it wraps does not repeat the address.
	address, hasAddress := errors.AsType[*url.Error](err)

	switch {
	case errors.Is(err, resty.ErrResponseBodyTooLarge):
		e.Detail = fmt.Sprintf("the answer is larger than %d bytes", c.opts.MaxBody)
	case ctx.Err() != nil:
		e.Detail, e.Err = "given up by the caller", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		e.Detail, e.Err =
			fmt.Sprintf("no complete answer within %s", c.opts.Timeout), context.DeadlineExceeded
	case hasAddress:
		e.Detail = Redact(address.Err.Error())
	default:
		e.Detail = Redact(err.Error())
	}

	return e
}
