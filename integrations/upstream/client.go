package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults of [Options].
const (
	DefaultTimeout = 10 * time.Second
	DefaultMaxBody = 8 << 20
)

// Options describes a remote system.
type Options struct {
	System    string            // names it in errors and observations, as in "sanity"
	BaseURL   string            // scheme, host and a path prefix if there is one
	Token     string            // sent as "Authorization: Bearer"; empty: none
	Timeout   time.Duration     // of a whole call; 0: DefaultTimeout
	MaxBody   int64             // bytes of an answer after decompression, beyond which the call fails; 0: DefaultMaxBody
	Transport http.RoundTripper // nil: one of its own, from [NewTransport]
	// Observe is told of every finished call, for metrics. nil: not called.
	Observe func(ctx context.Context, c Call)
}

// Request is one call.
type Request struct {
	// Op says what is tried, for errors and observations: "storing the submission".
	Op     string
	Method string      // empty: GET
	Path   string      // follows the base address; begins with a slash and is already escaped
	Query  url.Values  // unescaped
	Header http.Header // added to the client's own
	// Body is sent as JSON; a []byte or json.RawMessage is sent as it is. nil: no body.
	Body any
	// Anonymous leaves the token out.
	Anonymous bool
	// Safe marks a request that changes nothing although its method is POST. Like a GET it is sent again where
	// a connection that was kept open turns out closed.
	Safe bool
}

// Response is an answer, whatever its status, with its body read to the end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Decode reads the body as one JSON value into v.
func (r *Response) Decode(v any) error {
	if err := json.Unmarshal(r.Body, v); err != nil {
		return fmt.Errorf("reading the answer as JSON: %w", err)
	}
	return nil
}

// Call is what an observer learns of a finished call. It holds nothing personal.
type Call struct {
	System   string
	Op       string
	Kind     Kind // of the failure; empty for a status below 300
	Duration time.Duration
}

// Client calls one remote system. It may be used concurrently.
type Client struct {
	opts Options
	http *http.Client
}

// New returns a client. It does no I/O.
func New(opts Options) *Client {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.MaxBody <= 0 {
		opts.MaxBody = DefaultMaxBody
	}
	if opts.Transport == nil {
		opts.Transport = NewTransport()
	}
	opts.BaseURL = strings.TrimRight(opts.BaseURL, "/")
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{opts: opts, http: &http.Client{Transport: opts.Transport, CheckRedirect: stay}}
}

// NewTransport returns the transport a client uses by default, so that it can be wrapped
// (for traces) before it is put into [Options]. It honours HTTPS_PROXY and NO_PROXY.
func NewTransport() *http.Transport {
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

// opKey is the key of a call's Op in the context of its HTTP request.
type opKey struct{}

// OpOf returns what is tried by an HTTP request of a client, for a transport that is interested.
func OpOf(ctx context.Context) string {
	op, _ := ctx.Value(opKey{}).(string)
	return op
}

// Do makes one call. An error is an *Error and means that no complete answer
// arrived, which says nothing about whether the system acted on the request.
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
	limited, cancel := context.WithTimeout(context.WithValue(ctx, opKey{}, req.Op), c.opts.Timeout)
	defer cancel()
	r, err := c.newRequest(limited, req)
	if err != nil {
		return nil, &Error{System: c.opts.System, Op: req.Op, Kind: Rejected, Detail: "the request can't be made"}
	}
	resp := &Response{}
	got, err := c.http.Do(r)
	if err == nil {
		resp.Status, resp.Header = got.StatusCode, got.Header
		resp.Body, err = io.ReadAll(io.LimitReader(got.Body, c.opts.MaxBody+1))
		_ = got.Body.Close()
	}
	if err != nil || int64(len(resp.Body)) > c.opts.MaxBody {
		return nil, c.incomplete(ctx, req.Op, resp, err)
	}
	return resp, nil
}

// newRequest makes the HTTP request of a call.
func (c *Client) newRequest(ctx context.Context, req Request) (*http.Request, error) {
	address := c.opts.BaseURL + req.Path
	if !strings.HasPrefix(req.Path, "/") {
		return nil, errors.New("the path would change the host")
	}
	if len(req.Query) > 0 {
		address += "?" + req.Query.Encode()
	}
	body, err := encode(req.Body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, req.Method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "siteapi")
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.opts.Token != "" && !req.Anonymous {
		r.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	if req.Safe {
		r.Header["Idempotency-Key"] = nil // how net/http is told so; it is not sent
	}
	for name, values := range req.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return r, nil
}

func encode(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	case json.RawMessage:
		return b, nil
	}
	return json.Marshal(body)
}

// incomplete returns the error of a call without a complete answer. The body might have changed the judgement, so
// only what the header alone decides is taken from what arrived.
func (c *Client) incomplete(ctx context.Context, op string, resp *Response, err error) *Error {
	e := &Error{System: c.opts.System, Op: op, Kind: Unavailable, Status: resp.Status, RetryAfter: retryAfter(resp.Header, time.Now())}
	if resp.Status == http.StatusTooManyRequests {
		e.Kind = Limited
	}
	var address *url.Error // what it wraps does not repeat the address
	switch {
	case err == nil:
		e.Detail = fmt.Sprintf("the answer is larger than %d bytes", c.opts.MaxBody)
	case ctx.Err() != nil:
		e.Detail, e.Err = "given up by the caller", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		e.Detail, e.Err = fmt.Sprintf("no complete answer within %s", c.opts.Timeout), context.DeadlineExceeded
	case errors.As(err, &address):
		e.Detail = Redact(address.Err.Error())
	default:
		e.Detail = Redact(err.Error())
	}
	return e
}
