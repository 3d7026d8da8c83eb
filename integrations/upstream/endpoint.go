package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Endpoint is a single URL that is called, such as that of a webhook. Its client decides
// whether more than the status of a response matters.
type Endpoint struct {
	client *Client
	path   string

	// Refusal returns why an accepted request was refused all the same, as the body of the
	// response states. Optional: nil if only the status matters.
	Refusal func(body []byte) (reason string)
}

// NewEndpoint returns the endpoint at the BaseURL of the options. If public is set, its host
// name must not resolve to a private network, but a private IP address is allowed.
func NewEndpoint(o Options, public bool) (*Endpoint, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" {
		return nil, errors.New("it is not an address") // the parser's error would repeat it
	}
	o.BaseURL, o.MaxBody = u.Scheme+"://"+u.Host, 64<<10
	if public {
		hosts, err := ParseAllowedHosts([]string{o.BaseURL})
		if err != nil {
			return nil, err
		}
		o.Transport = hosts.Transport()
	}

	// The query is part of the path, because encoding it again would lose unusual parts, such
	// as a semicolon.
	path := "/" + strings.TrimPrefix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return &Endpoint{client: New(o), path: path}, nil
}

// Send calls the endpoint.
func (e *Endpoint) Send(ctx context.Context, req Request) error {
	req.Path = e.path
	resp, err := e.client.Do(ctx, req)
	if failed, ok := errors.AsType[*Error](err); ok && StatusKind(failed.Status) == "" {
		return nil // accepted, although the body of the response is missing or too large
	}
	if err != nil {
		return err
	}

	kind := StatusKind(resp.Status)
	switch resp.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusPaymentRequired:
		kind = Refused // the address or the plan is wrong, so every call would fail
	case http.StatusConflict:
		kind = Unavailable // an earlier try may still be running
	}
	if kind != "" {
		return e.client.Failure(req.Op, resp, kind, "")
	}
	if e.Refusal != nil {
		if reason := e.Refusal(resp.Body); reason != "" {
			return e.client.Failure(req.Op, resp, Unavailable, reason)
		}
	}
	return nil
}
