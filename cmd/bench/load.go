package main

import (
	"bufio"
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

// connections is the number of connections that carry the load.
const connections = 32

// get and post build HTTP requests as bytes, ready to be sent again and again.
func get(path string, headers ...string) []byte {
	lines := strings.Join(append(headers, "Accept: application/json"), "\r\n")
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench\r\n%s\r\n\r\n", path, lines)
}

func post(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// load sends requests from next, one after the other on every connection, for a while. It
// returns their rate and the 99th percentile of their times in milliseconds.
//
// It does not use net/http's client, which takes three times as much on a request as the
// service does on a cached read: the figure would be the client's.
func load(
	ctx context.Context, base string, duration time.Duration, next func() []byte,
) (perSecond, p99 float64) {
	times := make([][]time.Duration, connections)
	began := time.Now()

	group, ctx := errgroup.WithContext(ctx)
	for i := range times {
		group.Go(func() error {
			conn, in, err := dial(ctx, base)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()

			for sent := time.Now(); sent.Sub(began) < duration && ctx.Err() == nil; sent = time.Now() {
				length, err := roundTrip(conn, in, next())
				if err != nil {
					return err
				}
				if _, err := in.Discard(int(length)); err != nil {
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

// ask returns the body of the answer to one request.
func ask(ctx context.Context, base string, request []byte) []byte {
	conn, in, err := dial(ctx, base)
	harness.Check(err)
	defer func() { _ = conn.Close() }()
	return harness.Must(io.ReadAll(io.LimitReader(in, harness.Must(roundTrip(conn, in, request)))))
}

func dial(ctx context.Context, base string) (net.Conn, *bufio.Reader, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		return nil, nil, err
	}
	return conn, bufio.NewReaderSize(conn, 64<<10), nil
}

// roundTrip sends a request, which has to succeed, and reads the answer up to its body.
func roundTrip(conn net.Conn, in *bufio.Reader, request []byte) (length int64, err error) {
	if _, err := conn.Write(request); err != nil {
		return 0, err
	}

	resp, err := http.ReadResponse(in, nil) //nolint:bodyclose // the caller reads it from in
	if err != nil {
		return 0, err
	}

	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		return 0, fmt.Errorf("the answer to %.40q is %s", request, resp.Status)
	}
	return resp.ContentLength, nil
}
