package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// answerWithin is how long a client of a storm waits before it gives up.
const answerWithin = 10 * time.Second

// line is one connection of a storm, with as little of a client as can be: the load
// must not take the processor that the service needs.
type line struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
}

// connection sends one request after the other until ctx ends, at most one each pace.
func (s *storm) connection(ctx context.Context, pace time.Duration, next func() ([]byte, error)) gust {
	g := gust{answers: map[int]int{}, times: map[bool][]time.Duration{}}
	l := &line{addr: s.addr}
	defer l.close()
	var ids []string
	for turn := time.Now(); ctx.Err() == nil; {
		request, err := next()
		if err != nil {
			break
		}
		began := time.Now()
		g.sent++
		status, body, err := l.ask(ctx, request)
		took := time.Since(began)
		if err != nil {
			l.close()
			status = 0
		}
		g.answers[status]++
		var answer struct{ SubmissionID string }
		switch status {
		case http.StatusOK:
			if json.Unmarshal(body, &answer) == nil && answer.SubmissionID != "" {
				ids = append(ids, answer.SubmissionID)
			}
			g.times[true] = append(g.times[true], took)
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			g.times[false] = append(g.times[false], took)
		}
		if pace > 0 {
			// Turns that have passed are skipped.
			for turn = turn.Add(pace); time.Until(turn) < 0; turn = turn.Add(pace) {
			}
			pause(ctx, time.Until(turn))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, ids...)
	return g
}

// submission is the request of a visitor of his own.
func (s *storm) submission() ([]byte, error) {
	lead, err := newLead(int(s.numbers.Add(1)))
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, "POST /api/quote/submit HTTP/1.1\r\nHost: chaos\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(lead.body))
	return append(head, lead.body...), nil
}

// document is the request for one of the first acknowledged quotes as a PDF, in one of
// three languages: as good as never the same twice.
func (s *storm) document() ([]byte, error) {
	n := int(s.numbers.Add(1))
	return fmt.Appendf(nil, "GET /api/quote/pdf?id=%s&locale=%s HTTP/1.1\r\nHost: chaos\r\n\r\n",
		s.first[n/3%len(s.first)], []string{"en", "es", "ro"}[n%3]), nil
}

// ask sends a request and returns status and body of the answer.
func (l *line) ask(ctx context.Context, request []byte) (int, []byte, error) {
	if l.conn == nil {
		conn, err := (&net.Dialer{Timeout: answerWithin}).DialContext(context.WithoutCancel(ctx), "tcp", l.addr)
		if err != nil {
			return 0, nil, err
		}
		l.conn, l.in = conn, bufio.NewReader(conn)
	}
	if err := l.conn.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return 0, nil, err
	}
	// A service that sheds may answer and close before it has read everything: that
	// answer counts.
	_, sendErr := l.conn.Write(request)
	resp, err := http.ReadResponse(l.in, nil)
	if err != nil {
		if sendErr != nil {
			err = sendErr
		}
		return 0, nil, err
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.Close || sendErr != nil {
		l.close()
	}
	return resp.StatusCode, data, err
}

func (l *line) close() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.conn = nil
}
