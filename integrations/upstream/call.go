package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"
)

// Request is one call.
type Request struct {
	// Op says what is tried, for errors and observations: "storing the submission".
	Op string
	// Method is the HTTP method. Empty: GET.
	Method string
	// Path follows the base address. It begins with a slash and is already escaped.
	Path string
	// Query holds the parameters, unescaped.
	Query url.Values
	// Header is added to the client's own header.
	Header http.Header
	// Body is sent as JSON; a []byte or json.RawMessage is sent as it is. nil: no body.
	Body any
	// Anonymous leaves the token out.
	Anonymous bool
	// Safe marks a request that changes nothing although its method is neither GET nor
	// HEAD, so that it may be tried again.
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
	Method   string
	Status   int           // 0 where no answer came
	Kind     Kind          // of the failure; empty for a status below 300
	Attempts int           // tries made, at least 1 unless the settings forbade any
	Duration time.Duration // of all tries together
	Bytes    int           // of the body read
}

// Do makes one call. An error is an *Error and means that no complete answer
// arrived, which says nothing about whether the system acted on the request.
func (c *Client) Do(ctx context.Context, req Request) (*Response, error) {
	if req.Method == "" {
		req.Method = http.MethodGet
	}
	start := c.opts.Now()
	seen := Call{System: c.opts.System, Op: req.Op, Method: req.Method}
	resp, attempts, err := c.do(ctx, req)
	if c.opts.Observe != nil {
		seen.Attempts, seen.Duration = attempts, c.opts.Now().Sub(start)
		if err != nil {
			seen.Kind, seen.Status = err.Kind, err.Status
		} else {
			seen.Status, seen.Bytes = resp.Status, len(resp.Body)
			if resp.Status >= 300 {
				seen.Kind = StatusKind(resp.Status)
			}
		}
		c.opts.Observe(ctx, seen)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// do makes the call and counts its tries.
func (c *Client) do(ctx context.Context, req Request) (*Response, int, *Error) {
	fail := func(kind Kind, detail string, err error) *Error {
		return &Error{System: c.opts.System, Op: req.Op, Kind: kind, Detail: detail, Err: err}
	}
	if p := c.problem(); p != "" {
		return nil, 0, fail(Refused, p, nil)
	}
	// A path that is an address would take the token somewhere else.
	if !strings.HasPrefix(req.Path, "/") {
		return nil, 0, fail(Rejected, "the path does not begin with a slash", nil)
	}
	body, err := encode(req.Body)
	if err != nil {
		return nil, 0, fail(Rejected, "the request can't be written as JSON", nil)
	}

	limited, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	r := c.resty.R().SetContext(context.WithValue(limited, requestKey{}, req))
	r.QueryParam = cloneQuery(req.Query)
	for name, values := range req.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if body != nil {
		if r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "application/json")
		}
		r.SetBody(body)
	}
	if !req.Anonymous && c.opts.Token != "" {
		r.SetAuthToken(c.opts.Token)
	}

	got, err := r.Execute(req.Method, req.Path)
	if err != nil && !errors.Is(err, errNoMoreTries) {
		return nil, r.Attempt, c.transportFailure(ctx, req.Op, got, err)
	}
	return &Response{Status: got.StatusCode(), Header: got.Header(), Body: got.Body()}, r.Attempt, nil
}

// transportFailure translates the lack of a complete answer.
func (c *Client) transportFailure(ctx context.Context, op string, got *resty.Response, err error) *Error {
	e := &Error{System: c.opts.System, Op: op, Kind: Unavailable}
	if got != nil && got.RawResponse != nil {
		// The header arrived but not the body, which might have changed the judgement, so
		// only what the header alone decides is taken from it.
		e.Status = got.StatusCode()
		e.RetryAfter = retryAfter(got.Header(), c.opts.Now())
		if e.Status == http.StatusTooManyRequests {
			e.Kind = Limited
		}
	}
	switch {
	case ctx.Err() != nil:
		e.Detail, e.Err = "given up by the caller", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		e.Detail, e.Err = fmt.Sprintf("no complete answer within %s", c.opts.Timeout), context.DeadlineExceeded
	case errors.Is(err, resty.ErrResponseBodyTooLarge):
		e.Detail = fmt.Sprintf("the answer is larger than %d bytes", c.opts.MaxBody)
	default:
		e.Detail = Redact(cause(err).Error())
	}
	return e
}

// cause strips the layer that holds the address called.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
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

func cloneQuery(q url.Values) url.Values {
	out := make(url.Values, len(q))
	for k, v := range q {
		out[k] = append([]string(nil), v...)
	}
	return out
}
