package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"siteapi/cmd/internal/harness"
)

// connections is the number of connections of a load.
const connections = 32

// get and post return the bytes of HTTP requests.
func get(path string, headers ...string) []byte {
	lines := strings.Join(append(headers, "Accept: application/json"), "\r\n")
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench\r\n%s\r\n\r\n", path, lines)
}

func post(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// load sends requests from next on all connections for a duration, each connection one at
// a time. It returns their rate and the 99th percentile of their latency in milliseconds.
//
// It does not use the client of net/http, which needs three times as much processor time
// for a request as the service for a cached read, and would dominate the figure.
func load(
	ctx context.Context, base string, duration time.Duration, next func() []byte,
) (perSecond, p99 float64) {
	times := make([][]time.Duration, connections)
	began := time.Now()

	group, ctx := errgroup.WithContext(ctx)
	for i := range times {
		group.Go(func() error {
			c, err := dial(ctx, base)
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()

			for sent := time.Now(); sent.Sub(began) < duration && ctx.Err() == nil; sent = time.Now() {
				if err := c.send(next(), io.Discard); err != nil {
					return err
				}
				times[i] = append(times[i], time.Since(sent))
			}
			return ctx.Err()
		})
	}

	err := group.Wait()
	spent := time.Since(began)
	harness.Check(err)

	all := slices.Sorted(slices.Values(slices.Concat(times...)))
	return float64(len(all)) / spent.Seconds(), all[len(all)*99/100].Seconds() * 1000
}

// ask sends a request and returns the body of the response.
func ask(ctx context.Context, base string, request []byte) []byte {
	c := harness.Must(dial(ctx, base))
	defer func() { _ = c.Close() }()

	var body bytes.Buffer
	harness.Check(c.send(request, &body))
	return body.Bytes()
}

// conn is a connection to a server.
type conn struct {
	net.Conn
	in *bufio.Reader
}

func dial(ctx context.Context, base string) (*conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(base, "http://"))
	return &conn{c, bufio.NewReaderSize(c, 64<<10)}, err
}

// send sends a request that must succeed, and copies the body of the response.
func (c *conn) send(request []byte, body io.Writer) error {
	if _, err := c.Write(request); err != nil {
		return err
	}

	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()

	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%.40q: response %s", request, resp.Status)
	}
	_, err = io.Copy(body, resp.Body)
	return err
}
