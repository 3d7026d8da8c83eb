// Package faulttest makes the stub of a remote system fail in the ways in which remote
// systems fail.
package faulttest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Mode is a way to fail.
type Mode string

// The ways to fail.
const (
	Answer     Mode = "answer"    // Fault.Status, with Fault.Body or the stub's own words
	Hang       Mode = "hang"      // no response until the client disconnects
	Reset      Mode = "reset"     // the connection is reset before a response
	Drip       Mode = "drip"      // 200, and then a blank every few milliseconds
	Truncated  Mode = "truncated" // 200, but the connection ends in the middle of the body
	BrokenJSON Mode = "broken"    // 200 with the first half of the body, as if it were complete
	Oversized  Mode = "oversized" // 200 with 40 MiB
	HTML       Mode = "html"      // a proxy's page with Fault.Status, or 200
	Partial    Mode = "partial"   // 200 in the right shape, but without values
)

// Fault is an injected failure.
type Fault struct {
	Mode       Mode
	Status     int    // status of Answer and HTML
	Body       string // body of Answer; empty for the stub's own words
	RetryAfter string // value of the Retry-After header; empty for none
	Acted      bool   // The request takes effect, and only its response is lost.
	On         string // API or path that fails; "POST …" limits it to a method; empty for any
	Times      int    // number of requests that fail; 0 means one, below 0 all until Recover
}

// Matches reports whether the fault applies to a request.
func (f Fault) Matches(r *http.Request) bool {
	method, path, found := strings.Cut(f.On, " ")
	if !found {
		method, path = "", f.On
	}
	return (method == "" || method == r.Method) && strings.Contains(r.URL.EscapedPath(), path)
}

// Sends returns the status of the fault's response, or 0 if there is none.
func (f Fault) Sends() int {
	switch {
	case f.Mode == Reset || f.Mode == Hang:
		return 0
	case f.Mode == Answer || f.Mode == HTML && f.Status != 0:
		return f.Status
	}
	return http.StatusOK
}

// Injector decides which requests fail. The zero value lets none fail.
type Injector struct {
	mu     sync.Mutex
	faults []Fault
	random []Fault
	rate   float64
	rand   *rand.Rand
}

// Fail adds faults, which apply to requests in this order.
func (in *Injector) Fail(faults ...Fault) {
	in.mu.Lock()
	defer in.mu.Unlock()

	for _, f := range faults {
		if f.Times == 0 {
			f.Times = 1
		}
		in.faults = append(in.faults, f)
	}
}

// FailRandomly makes a share of all requests (0 to 1) fail in one of these ways. The same
// seed gives the same sequence.
func (in *Injector) FailRandomly(rate float64, seed uint64, faults ...Fault) {
	in.mu.Lock()
	defer in.mu.Unlock()

	in.rate, in.random, in.rand = rate, faults, rand.New(rand.NewPCG(seed, seed))
}

// Recover ends all failures.
func (in *Injector) Recover() {
	in.mu.Lock()
	defer in.mu.Unlock()

	in.faults, in.random, in.rate = nil, nil, 0
}

// Next returns the fault of a request, if it has one.
func (in *Injector) Next(r *http.Request) (Fault, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()

	for i, f := range in.faults {
		if !f.Matches(r) {
			continue
		}

		if in.faults[i].Times--; in.faults[i].Times == 0 {
			in.faults = append(in.faults[:i:i], in.faults[i+1:]...)
		}
		return f, true
	}

	if len(in.random) > 0 && in.rand.Float64() < in.rate {
		f := in.random[in.rand.IntN(len(in.random))]
		return f, f.Matches(r)
	}
	return Fault{}, false
}

// Spoil responds as the fault requires. The parameter right is the body of the correct
// response, and own is the stub's body for Answer and Partial.
func (f Fault) Spoil(w http.ResponseWriter, r *http.Request, right, own []byte) {
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}

	w.Header().Set("Content-Type", "application/json; charset=utf-8")

	send := func(body []byte) {
		w.WriteHeader(f.Sends())
		_, _ = w.Write(body)
	}

	switch f.Mode {
	case Answer:
		if f.Body != "" {
			own = []byte(f.Body)
		}
		send(own)

	case Partial:
		send(own)

	case HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		send(fmt.Appendf(nil,
			"<!doctype html><title>%d</title><p>The gateway has something to say.", f.Sends()))

	case BrokenJSON:
		send(right[:len(right)/2])

	case Oversized:
		w.WriteHeader(http.StatusOK)
		blanks := bytes.Repeat([]byte(" "), 1<<20)
		for range 40 {
			if _, err := w.Write(blanks); err != nil {
				break
			}
		}

	case Drip:
		w.WriteHeader(http.StatusOK)
		for wait(r, 5*time.Millisecond) {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
		}

	case Truncated:
		cutOff(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(right)+1, right))

	case Reset:
		cutOff(w, "")

	case Hang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // returning would send 200
	}
}

// wait waits and reports whether the client is still connected.
func wait(r *http.Request, d time.Duration) bool {
	select {
	case <-r.Context().Done():
		return false
	case <-time.After(d):
		return true
	}
}

// cutOff sends a text and ends the connection. If the text is empty it resets the
// connection.
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
