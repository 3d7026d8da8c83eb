package upstream

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// Stream makes a GET whose answer goes on for as long as ctx lives: neither Timeout nor
// MaxBody applies. The caller closes the body. An answer that is not 200 with the media
// type is an [Error].
func (c *Client) Stream(ctx context.Context, req Request, mediaType string) (io.ReadCloser, error) {
	call, began := Call{System: c.opts.System, Op: req.Op}, time.Now()
	body, err := c.stream(ctx, req, mediaType)
	if err != nil {
		call.Kind = err.Kind
	}

	if call.Duration = time.Since(began); c.opts.Observe != nil {
		c.opts.Observe(ctx, call)
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

func (c *Client) stream(ctx context.Context, req Request, mediaType string) (io.ReadCloser, *Error) {
	address := strings.TrimRight(c.opts.BaseURL, "/") + req.Path
	if len(req.Query) > 0 {
		address += "?" + req.Query.Encode()
	}
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &Error{System: c.opts.System, Op: req.Op, Kind: Rejected, Detail: "the request can't be made"}
	}

	asked.Header = http.Header{
		"Accept":          {mediaType},
		"Accept-Encoding": {"identity"},
		"User-Agent":      {"siteapi"},
	}
	for name, values := range req.Header {
		asked.Header[http.CanonicalHeaderKey(name)] = values
	}
	if c.opts.Token != "" && !req.Anonymous {
		asked.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}

	got, err := c.resty.GetClient().Do(asked)
	if err != nil {
		return nil, c.incomplete(ctx, req.Op, nil, err)
	}
	sent, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if got.StatusCode == http.StatusOK && sent == mediaType {
		return got.Body, nil
	}

	_ = got.Body.Close()
	resp := &Response{Status: got.StatusCode, Header: got.Header}
	return nil, c.Failure(req.Op, resp, "", "the answer is not a stream of "+mediaType)
}
