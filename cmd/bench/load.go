package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"siteapi/cmd/internal/harness"
)

// connections is how many the load comes over.
const connections = 32

// result is what came of a load.
type result struct {
	perSecond float64
	p99       time.Duration
}

// get and post make HTTP requests as bytes, ready to be sent again and again.
func get(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n\r\n")
}

func post(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// load sends requests one after the other on every connection for a while. It is not
// net/http's client, which spends three times as much on a request as the service does
// on a cached read: the client would be what is measured. next makes the n-th request
// of a connection.
func load(ctx context.Context, addr string, length time.Duration, next func(conn, n int) []byte) result {
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		times []time.Duration
		fail  error
	)
	began := time.Now()
	deadline := began.Add(length)
	for c := range connections {
		group.Go(func() {
			took, err := one(ctx, addr, deadline, func(n int) []byte { return next(c, n) })
			mu.Lock()
			defer mu.Unlock()
			times = append(times, took...)
			if err != nil && fail == nil {
				fail = err
			}
		})
	}
	group.Wait()
	spent := time.Since(began)
	harness.Check(fail)
	slices.Sort(times)
	return result{perSecond: float64(len(times)) / spent.Seconds(), p99: times[len(times)*99/100]}
}

// one works one connection and returns how long each request took.
func one(ctx context.Context, addr string, deadline time.Time, next func(n int) []byte) ([]time.Duration, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 64<<10)
	times := make([]time.Duration, 0, 1<<14)
	for n := 0; ; n++ {
		began := time.Now()
		if began.After(deadline) || ctx.Err() != nil {
			return times, ctx.Err()
		}
		if _, err := conn.Write(next(n)); err != nil {
			return nil, err
		}
		if err := skipAnswer(in); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
}

// skipAnswer reads one answer with a Content-Length, which has to be a success.
func skipAnswer(in *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		header, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.Contains(header, []byte(" 200 ")) {
			rest, _ := in.Peek(min(in.Buffered(), 400))
			return fmt.Errorf("the server answered %s %s", bytes.TrimSpace(header), rest)
		}
		if value, ok := bytes.CutPrefix(header, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		if len(header) == 2 {
			break
		}
	}
	if length < 0 {
		return io.ErrUnexpectedEOF
	}
	_, err := in.Discard(length)
	return err
}
