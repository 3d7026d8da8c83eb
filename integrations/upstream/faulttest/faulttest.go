// Package faulttest makes stubs of remote systems fail as real systems do.
package faulttest

import (
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
	Hang       Mode = "hang"      // no response until the client disconnects
	Reset      Mode = "reset"     // the connection is reset before a response
	Drip       Mode = "drip"      // 200, and then a blank every few milliseconds
	Truncated  Mode = "truncated" // the connection ends in the middle of the body
	BrokenJSON Mode = "broken"    // 200 with the first half of the body, as if it were complete
	Oversized  Mode = "oversized" // 200 with 40 MiB
	Partial    Mode = "partial"   // 200 in the right shape, but without values

	respond Mode = "respond"
)

// Fault is an injected failure of requests. Its methods return a modified copy.
type Fault struct {
	Mode   Mode
	Acted  bool   // The request takes effect, and only its response is lost.
	status int    // of the response
	body   string // of the response; empty for the stub's own
	wait   string // value of the Retry-After header; empty for none
	on     string // API or path that fails, with or without a method; empty for any
	times  int    // number of requests that fail; 0 means one, below 0 all until Recover
}

// Of returns a fault of a mode.
func Of(mode Mode) Fault { return Fault{Mode: mode} }

// Respond returns a fault that responds with a status and the stub's own body.
func Respond(status int) Fault { return Fault{Mode: respond, status: status} }

// Page returns a fault that responds with a status and the HTML page of a proxy.
func Page(status int) Fault {
	return Respond(status).With("<!doctype html><p>The gateway has something to say.")
}

// With sets the body of the response.
func (f Fault) With(body string) Fault { f.body = body; return f }

// RetryAfter sets the Retry-After header, unless wait is empty.
func (f Fault) RetryAfter(wait string) Fault { f.wait = wait; return f }

// AfterActing lets the request take effect, so that only its response is lost.
func (f Fault) AfterActing() Fault { f.Acted = true; return f }

// On limits the fault to requests whose path contains a part, optionally with a method:
// "mutate" or "POST /contacts".
func (f Fault) On(part string) Fault { f.on = part; return f }

// Times repeats the fault for n matching requests, or for all until Recover if n is negative.
func (f Fault) Times(n int) Fault { f.times = n; return f }

// String returns a description of the fault.
func (f Fault) String() string {
	name := fmt.Sprintf("%s %d %.60s %s", f.Mode, f.status, f.body, f.wait)
	if f.Acted {
		name += " after acting"
	}
	return name
}

// matches reports whether the fault applies to a request.
func (f Fault) matches(r *http.Request) bool {
	method, path, found := strings.Cut(f.on, " ")
	if !found {
		method, path = "", f.on
	}
	return (method == "" || method == r.Method) && strings.Contains(r.URL.EscapedPath(), path)
}

// Sends returns the status of the fault's response, or 0 if there is no response.
func (f Fault) Sends() int {
	switch {
	case f.Mode == Reset || f.Mode == Hang:
		return 0
	case f.status != 0:
		return f.status
	}
	return 200
}

// Injector decides which requests fail. With the zero value, none fails.
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
		if f.times == 0 {
			f.times = 1
		}
		in.faults = append(in.faults, f)
	}
}

// FailRandomly makes a share of all requests (0 to 1) fail with one of the faults. The same
// seed yields the same sequence.
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
		if !f.matches(r) {
			continue
		}

		if in.faults[i].times--; in.faults[i].times == 0 {
			in.faults = append(in.faults[:i:i], in.faults[i+1:]...)
		}
		return f, true
	}

	if len(in.random) > 0 && in.rand.Float64() < in.rate {
		f := in.random[in.rand.IntN(len(in.random))]
		return f, f.matches(r)
	}
	return Fault{}, false
}

// Spoil responds as the fault requires. The parameter right is the body of the correct
// response, and own is the stub's body for responses of Respond and Partial.
func (f Fault) Spoil(w http.ResponseWriter, r *http.Request, right, own []byte) {
	if f.wait != "" {
		w.Header().Set("Retry-After", f.wait)
	}

	w.Header().Set("Content-Type", "application/json; charset=utf-8")

	send := func(body []byte) {
		w.WriteHeader(f.Sends())
		_, _ = w.Write(body)
	}

	switch f.Mode {
	case respond, Partial:
		if f.body != "" {
			own = []byte(f.body)
		}
		send(own)

	case BrokenJSON:
		send(right[:len(right)/2])

	case Oversized:
		send(make([]byte, 40<<20))

	case Drip:
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}

	case Truncated:
		cutOff(w, fmt.Sprintf("HTTP/1.1 %d \r\nContent-Length: %d\r\n\r\n%s", f.Sends(), len(right)+1, right))

	case Reset:
		cutOff(w, "")

	case Hang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // returning would send 200
	}
}

// cutOff sends a string and closes the connection. If it is empty, it resets the
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
