package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// wire is a connection under a patrol and its other end.
func wire(t *testing.T, p *patrol) (watched *conn, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if far, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	watched = newConn(near.(*net.TCPConn))
	p.watch(watched)
	t.Cleanup(func() { _ = far.Close(); _ = watched.Close() })
	return watched, far
}

func walking(t *testing.T) *patrol {
	t.Helper()
	p := newPatrol()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go p.walk(ctx, 5*time.Millisecond)
	return p
}

func timedOut(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout() && errors.Is(err, os.ErrDeadlineExceeded)
}

func TestDeadlineEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	c, far := wire(t, walking(t))
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	began := time.Now()
	if _, err := c.Read(make([]byte, 1)); !timedOut(err) {
		t.Fatalf("reading: %v", err)
	}
	if took := time.Since(began); took < 25*time.Millisecond || took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
	if _, err := c.Read(make([]byte, 1)); !timedOut(err) {
		t.Errorf("reading again: %v", err)
	}
	// A new deadline brings the connection back.
	_ = c.SetReadDeadline(time.Time{})
	_, _ = far.Write([]byte("x"))
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("after the deadline was lifted: %d, %v", n, err)
	}
	// Nobody reads, so a large write blocks.
	_ = c.SetDeadline(time.Now().Add(30 * time.Millisecond))
	if _, err := c.Write(make([]byte, 64<<20)); !timedOut(err) {
		t.Errorf("writing: %v", err)
	}
}

func TestDeadlineInThePast(t *testing.T) {
	t.Parallel()
	c, far := wire(t, newPatrol()) // nobody walks: it has to work at once
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond)
	_ = c.SetReadDeadline(time.Unix(1, 0))
	if err := <-ended; !timedOut(err) {
		t.Errorf("a read under way: %v", err)
	}
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetReadDeadline(time.Unix(1, 0))
	_, _ = far.Write([]byte("x"))
	if _, err := c.Read(make([]byte, 1)); !timedOut(err) {
		t.Errorf("a read that begins later: %v", err)
	}
	_ = c.SetReadDeadline(time.Time{})
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("afterwards: %d, %v", n, err)
	}
}

// Whoever sets a deadline anew in time never sees the old one.
func TestDeadlineSetAnew(t *testing.T) {
	t.Parallel()
	c, far := wire(t, walking(t))
	go func() {
		for range 50 {
			time.Sleep(4 * time.Millisecond)
			_, _ = far.Write([]byte("x"))
		}
	}()
	for i := range 50 {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatalf("read %d: %d, %v", i, n, err)
		}
	}
}

func TestPatrolForgetsClosedConnections(t *testing.T) {
	t.Parallel()
	crowd := newCrowded(t, 4)
	c := crowd.dial("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, _, err := answer(c); err != nil {
		t.Fatal(err)
	}
	watched := func() int {
		crowd.patrol.mu.Lock()
		defer crowd.patrol.mu.Unlock()
		return len(crowd.patrol.conns)
	}
	if n := watched(); n != 1 {
		t.Errorf("%d connections are watched, want 1", n)
	}
	_ = c.Close()
	for end := time.Now().Add(5 * time.Second); watched() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a closed connection is watched for good")
		}
	}
}

// The server in the standard library works on such connections: time-outs, requests one
// after the other, a client that goes away.
func TestHTTPOverWatchedConnections(t *testing.T) {
	t.Parallel()
	p := walking(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	server := &http.Server{
		ReadTimeout: 200 * time.Millisecond, IdleTimeout: 200 * time.Millisecond, WriteTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
			if r.URL.Path == "/wait" {
				<-r.Context().Done()
				gone <- r.Context().Err()
			}
		}),
	}
	go func() { _ = server.Serve(watching{l, p}) }()
	t.Cleanup(func() { _ = server.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(c)
	for i := range 100 {
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != "hello" {
			t.Fatalf("request %d: %q", i, body)
		}
	}
	if _, err := answers.ReadByte(); err != io.EOF {
		t.Errorf("an idle connection ended with %v", err)
	}
	slow, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	_, _ = io.WriteString(slow, "GET / HT")
	if rest, err := io.ReadAll(slow); err != nil || strings.Contains(string(rest), "200") {
		t.Errorf("a slow request ended with %q, %v", rest, err)
	}
	away, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(away, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
	time.Sleep(20 * time.Millisecond)
	_ = away.Close()
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the handler never heard that its client went away")
	}
}

// watching is a listener whose connections are under a patrol.
type watching struct {
	net.Listener
	patrol *patrol
}

func (w watching) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	watched := newConn(c.(*net.TCPConn))
	w.patrol.watch(watched)
	return watched, nil
}
