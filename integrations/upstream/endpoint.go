package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Endpoint is one address that is called, such as that of a webhook. Of an answer only the
// status counts.
type Endpoint struct {
	client *Client
	path   string
}

// NewEndpoint returns the endpoint whose address is the BaseURL of the options. With public
// its name must not resolve to a private network, though the address itself may be in one.
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

	// The query is part of the path, since encoding it again would lose what is not of the
	// usual form, such as a semicolon.
	path := "/" + strings.TrimPrefix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return &Endpoint{New(o), path}, nil
}

// Send makes a call.
func (e *Endpoint) Send(ctx context.Context, req Request) error {
	req.Path = e.path
	resp, err := e.client.Do(ctx, req)
	if failed, ok := errors.AsType[*Error](err); ok && StatusKind(failed.Status) == "" {
		return nil // accepted, although the body of the answer is missing or too large
	}
	if err != nil {
		return err
	}

	kind := StatusKind(resp.Status)
	switch resp.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusPaymentRequired:
		kind = Refused // the address or the plan is wrong, so every call would fail
	case http.StatusConflict:
		kind = Unavailable // an earlier try may be under way
	}
	if kind == "" {
		return nil
	}
	return e.client.Failure(req.Op, resp, kind, "")
}
