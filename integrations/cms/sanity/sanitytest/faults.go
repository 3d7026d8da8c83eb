package sanitytest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// Mode is a way to fail.
type Mode string

// The ways to fail.
const (
	Answer     Mode = "answer"    // with Fault.Status and an error in Sanity's shape
	Hang       Mode = "hang"      // no answer until the client has gone
	Reset      Mode = "reset"     // the connection is reset instead of an answer
	Drip       Mode = "drip"      // 200, and then a blank every few milliseconds for ever
	Truncated  Mode = "truncated" // 200, and the connection ends in the middle of the body
	BrokenJSON Mode = "broken"    // 200 with half of the answer, as if that were all
	Oversized  Mode = "oversized" // 200 with 40 MiB
	HTML       Mode = "html"      // a proxy's page with Fault.Status, or 200
	Partial    Mode = "partial"   // 200 in the right shape, but with nothing in it
)

// Fault is a failure to come.
type Fault struct {
	Mode Mode
	// Status is what Answer and HTML answer with.
	Status int
	// Body replaces the body that Answer would make up.
	Body string
	// RetryAfter is sent as a header of that name. Empty: it is not.
	RetryAfter string
	// Acted says that the request takes effect before the failure: the far end stored
	// it, and the client does not learn of it.
	Acted bool
	// On is the API that fails: "query" or "mutate". Empty: either.
	On string
	// Times is how many requests in a row fail. 0: one.
	Times int
}

// Fail adds failures to come: each request for a fault's API uses one up.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		f.Times = max(f.Times, 1)
		s.faults = append(s.faults, f)
	}
}

// FailRandomly lets a share of all requests (0 to 1) fail in one of these ways. The same
// seed gives the same sequence.
func (s *Server) FailRandomly(rate float64, seed uint64, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate, s.random, s.rand = rate, faults, rand.New(rand.NewPCG(seed, seed))
}

// Recover ends all failures.
func (s *Server) Recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.random, s.rate = nil, nil, 0
}

// nextFault takes the failure that a request for an API meets.
func (s *Server) nextFault(api string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.faults {
		f := &s.faults[i]
		if f.On != "" && f.On != api {
			continue
		}
		taken := *f
		if f.Times--; f.Times == 0 {
			s.faults = append(s.faults[:i], s.faults[i+1:]...)
		}
		return taken, true
	}
	if len(s.random) > 0 && s.rand.Float64() < s.rate {
		f := s.random[s.rand.IntN(len(s.random))]
		return f, f.On == "" || f.On == api
	}
	return Fault{}, false
}

// sends is the status a fault answers with; 0: it does not answer.
func (f Fault) sends() int {
	switch {
	case f.Mode == Reset || f.Mode == Hang:
		return 0
	case f.Mode == Answer || f.Mode == HTML && f.Status != 0:
		return f.Status
	}
	return http.StatusOK
}

// spoil answers as a fault wants it; right is the answer there would have been.
func (s *Server) spoil(w http.ResponseWriter, r *http.Request, f Fault, api string, right answer) {
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	switch f.Mode {
	case Answer:
		made := failed(f.Status, http.StatusText(f.Status), "told to fail")
		if f.Body != "" {
			made.body = []byte(f.Body)
		}
		made.write(w)
	case HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(f.sends())
		fmt.Fprintf(w, "<!doctype html><title>%d</title><p>The gateway has something to say.", f.sends())
	case Partial:
		body := `{"ms":1,"result":null}`
		if api == "mutate" {
			body = `{"transactionId":"partial","results":[]}`
		}
		answer{status: http.StatusOK, body: []byte(body)}.write(w)
	case BrokenJSON:
		answer{status: http.StatusOK, body: right.body[:len(right.body)/2]}.write(w)
	case Oversized:
		w.Header().Set("Content-Type", "application/json")
		blanks := bytes.Repeat([]byte(" "), 1<<20)
		for range 40 {
			if _, err := w.Write(blanks); err != nil {
				break
			}
		}
	case Drip:
		w.Header().Set("Content-Type", "application/json")
		flush := http.NewResponseController(w)
		for s.wait(r, 5*time.Millisecond) {
			_, _ = io.WriteString(w, " ")
			_ = flush.Flush()
		}
	case Truncated:
		cutOff(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(right.body)+1, right.body))
	case Reset:
		cutOff(w, "")
	case Hang:
		for s.wait(r, time.Second) {
		}
	}
}

// wait waits and reports whether client and server are still there.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	select {
	case <-r.Context().Done():
		return false
	case <-s.done:
		return false
	case <-time.After(d):
		return true
	}
}

// cutOff sends some bytes and then resets the connection.
func cutOff(w http.ResponseWriter, text string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(conn, text)
	if tcp, ok := conn.(*net.TCPConn); ok && text == "" {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
