package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options describes a remote system.
type Options struct {
	System    string            // name in errors and observations, such as "sanity"
	BaseURL   string            // scheme, host, and a path prefix if there is one
	Token     string            // sent as "Authorization: Bearer"; empty for none
	Timeout   time.Duration     // limit of a whole call; 0 means 10 s
	MaxBody   int               // limit of a response after decompression, in bytes; 0 means 8 MiB
	Transport http.RoundTripper // nil for a default transport

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

	// Safe marks a POST request that changes nothing. Like a GET request, it is sent again if
	// an idle connection turns out to be closed.
	Safe bool
}

// Response is a complete response of any status.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Decode reads the body as one JSON value into v.
func (r *Response) Decode(v any) error { return json.Unmarshal(r.Body, v) }

// Call describes a finished call for an observer. It contains no personal data.
type Call struct {
	System   string
	Op       string
	Kind     Kind // kind of the failure; empty if there was none
	Duration time.Duration
}

// Client calls one remote system. It is safe for concurrent use.
type Client struct {
	opts Options
	http *http.Client
}

// New returns a client. It does no I/O.
func New(opts Options) *Client {
	opts.Timeout, opts.MaxBody = cmp.Or(opts.Timeout, 10*time.Second), cmp.Or(opts.MaxBody, 8<<20)
	if opts.Transport == nil {
		opts.Transport = newTransport()
	}

	// The client has no cookie jar, and it returns a redirect instead of following it.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{opts, &http.Client{Transport: traced(opts.System, opts.Transport), CheckRedirect: stay}}
}

// dialTimeout limits the time for a connection.
const dialTimeout = 5 * time.Second

// newTransport returns the default transport of a client. It honors HTTPS_PROXY and
// NO_PROXY.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        60 * time.Second,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Transport returns a transport for a library that makes its own calls. It limits the
// header and the body of a response, in bytes.
func Transport(maxBody int64) http.RoundTripper { return limited{newTransport(), maxBody} }

type limited struct {
	*http.Transport
	maxBody int64
}

// RoundTrip implements [http.RoundTripper].
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.Transport.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, l.maxBody)
	}
	return response, err
}

// Do makes one call. An error is an *Error and means that no complete response arrived; the
// system may have acted on the request.
func (c *Client) Do(ctx context.Context, req Request) (*Response, error) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()

	resp := &Response{}
	got, err := c.send(limited, req, http.Header{"Accept": {"application/json"}})
	if err == nil {
		defer func() { _ = got.Body.Close() }()
		resp.Status, resp.Header = got.StatusCode, got.Header
		resp.Body, err = io.ReadAll(http.MaxBytesReader(nil, got.Body, int64(c.opts.MaxBody)))
	}
	if err != nil {
		return nil, c.observe(ctx, req.Op, began, c.incomplete(ctx, req.Op, resp, err))
	}
	_ = c.observe(ctx, req.Op, began, &Error{Kind: StatusKind(resp.Status)})
	return resp, nil
}

// Stream sends a GET request whose response lasts until ctx ends: neither Timeout nor MaxBody
// applies. The caller closes the body. A response other than 200 with the media type is an
// [Error].
func (c *Client) Stream(ctx context.Context, req Request, mediaType string) (io.ReadCloser, error) {
	began := time.Now()
	got, err := c.send(ctx, req, http.Header{"Accept": {mediaType}, "Accept-Encoding": {"identity"}})
	if err != nil {
		return nil, c.observe(ctx, req.Op, began, c.incomplete(ctx, req.Op, &Response{}, err))
	}

	sent, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if got.StatusCode == http.StatusOK && sent == mediaType {
		_ = c.observe(ctx, req.Op, began, &Error{})
		return got.Body, nil
	}
	_ = got.Body.Close()
	resp := &Response{Status: got.StatusCode, Header: got.Header}
	return nil, c.observe(ctx, req.Op, began,
		c.Failure(req.Op, resp, "", "the response is not a stream of "+mediaType))
}

// observe reports a call to the observer, and returns its error.
func (c *Client) observe(ctx context.Context, op string, began time.Time, err *Error) error {
	if c.opts.Observe != nil {
		c.opts.Observe(ctx, Call{System: c.opts.System, Op: op, Kind: err.Kind, Duration: time.Since(began)})
	}
	return err
}

// errNotSent means that a request can't be created.
var errNotSent = errors.New("the request can't be created")

// send sends a request with the header in addition to its own.
func (c *Client) send(ctx context.Context, req Request, header http.Header) (*http.Response, error) {
	body, isBytes := req.Body.([]byte)
	if !isBytes && req.Body != nil {
		var err error
		if body, err = json.Marshal(req.Body); err != nil {
			return nil, errNotSent
		}
	}

	address := strings.TrimRight(c.opts.BaseURL, "/") + req.Path
	if len(req.Query) > 0 {
		address += "?" + req.Query.Encode()
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, opKey{}, req.Op),
		cmp.Or(req.Method, http.MethodGet), address, bytes.NewReader(body))
	// A path without a leading slash could change the host and send it the token.
	if err != nil || !strings.HasPrefix(req.Path, "/") {
		return nil, errNotSent
	}

	r.Header = header
	r.Header.Set("User-Agent", "siteapi")
	if req.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.opts.Token != "" && !req.Anonymous {
		r.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	if req.Safe {
		r.Header["Idempotency-Key"] = nil // marks the request as safe for net/http and is not sent
	}
	for name, values := range req.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return c.http.Do(r)
}

// incomplete returns the error of a call without a complete response. Of the response it uses
// only the header, because the missing body might have changed the outcome.
func (c *Client) incomplete(ctx context.Context, op string, got *Response, err error) *Error {
	e := c.Failure(op, got, Unavailable, "")
	if e.Status == http.StatusTooManyRequests {
		e.Kind = Limited
	}

	// The error that a *url.Error wraps does not repeat the address.
	if address, ok := errors.AsType[*url.Error](err); ok {
		err = address.Err
	}
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case errors.Is(err, errNotSent):
		e.Kind, e.Detail = Rejected, errNotSent.Error()
	case tooLarge:
		e.Detail = fmt.Sprintf("the response is larger than %d bytes", c.opts.MaxBody)
	case ctx.Err() != nil:
		e.Detail, e.Err = "canceled by the caller", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		e.Detail, e.Err = fmt.Sprintf("no complete response within %s", c.opts.Timeout),
			context.DeadlineExceeded
	default:
		e.Detail = Redact(err.Error())
	}
	return e
}
