package hubspottest

import (
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is a way to fail. Those of this package are made by its functions and varied
// by methods.
type Fault struct {
	Name   string
	Stored bool // the request is carried out first, and only its answer is lost

	waits  bool
	status int // of the answer; 0: none
	fail   func(w http.ResponseWriter, r *http.Request, done <-chan struct{})
	match  func(r *http.Request) bool // nil: any request
	times  int                        // requests left to fail; below 0: all
}

// AfterStoring returns the fault with the request carried out first.
func (f Fault) AfterStoring() Fault {
	f.Stored = true
	f.Name += " after storing"
	return f
}

// On returns the fault for requests with this method whose path contains a text. An
// empty text or method fits any.
func (f Fault) On(method, path string) Fault {
	f.match = func(r *http.Request) bool {
		return (method == "" || r.Method == method) && strings.Contains(r.URL.EscapedPath(), path)
	}
	return f
}

// Times returns the fault for the next n fitting requests; below 0 for all of them.
func (f Fault) Times(n int) Fault {
	f.times = n
	return f
}

// Fail makes the next fitting request fail with each of the faults, in order. Given
// without [Fault.Times], a fault is for one request.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		if f.times == 0 {
			f.times = 1
		}
		s.faults = append(s.faults, f)
	}
}

// FailAtRandom makes a share of the requests fail from now on, the same ones for the
// same seed and order of requests.
func (s *Server) FailAtRandom(rate float64, seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.FailureRate, s.random = rate, rand.New(rand.NewPCG(seed, 1))
}

// Recover ends all failing, at random as well.
func (s *Server) Recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.o.FailureRate = nil, 0
}

// nextFault returns the fault that a request is to meet. The caller holds the lock.
func (s *Server) nextFault(r *http.Request) (Fault, bool) {
	for i, f := range s.faults {
		if f.match != nil && !f.match(r) {
			continue
		}
		if s.faults[i].times--; s.faults[i].times == 0 {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
		}
		return f, true
	}
	if s.o.FailureRate > 0 && s.random.Float64() < s.o.FailureRate {
		return s.o.RandomFaults[s.random.IntN(len(s.o.RandomFaults))], true
	}
	return Fault{}, false
}

// Waits reports whether the fault costs a caller its whole time-out.
func (f Fault) Waits() bool { return f.waits }

// FastFaults are those that cost a caller no waiting: a random failure is one of them.
func FastFaults() []Fault {
	return []Fault{
		Reset(), Reset().AfterStoring(), Answer(500, nil), Answer(502, nil).AfterStoring(), Answer(503, nil),
		Answer(504, nil).AfterStoring(), Limited("SECONDLY", ""), Garbage().AfterStoring(),
	}
}

// Answer fails with a status and HubSpot's kind of body, or with the one given.
func Answer(status int, body []byte) Fault {
	if body == nil {
		body = []byte(`{"status":"error","message":"internal error","correlationId":"00000000-0000-4000-8000-000000000000"}`)
	}
	return answering(strconv.Itoa(status), status, http.Header{}, body)
}

// Empty fails with a status and a body of which every field is missing.
func Empty(status int) Fault {
	f := Answer(status, []byte(`{}`))
	f.Name += " without fields"
	return f
}

// Limited fails with the refusal of a rate limit: DAILY, TEN_SECONDLY_ROLLING or
// SECONDLY. Wait is the Retry-After header; empty: none.
func Limited(policy, wait string) Fault {
	// Strings and maps of strings are always written.
	body, _ := json.Marshal(limitBody(policy, "00000000-0000-4000-8000-000000000000"))
	header := http.Header{}
	name := "429 " + policy
	if wait != "" {
		header.Set("Retry-After", wait)
		name += " with Retry-After"
	}
	return answering(name, http.StatusTooManyRequests, header, body)
}

// Garbage fails with status 200 and what is not JSON.
func Garbage() Fault {
	f := Answer(http.StatusOK, []byte(`<html><body>Welcome to the network! {"id`))
	f.Name = "invalid JSON"
	return f
}

// Oversized fails with status 200 and a JSON body of about n bytes.
func Oversized(n int) Fault {
	f := Answer(http.StatusOK, []byte(`{"id":"1","properties":{"email":"`+strings.Repeat("x", n)+`"}}`))
	f.Name = "oversized"
	return f
}

func answering(name string, status int, header http.Header, body []byte) Fault {
	return Fault{Name: name, status: status, fail: func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "application/json;charset=utf-8")
		for k, v := range header {
			w.Header()[k] = v
		}
		w.WriteHeader(status)
		_, _ = w.Write(body) // whoever went away misses the fault
	}}
}

// Hang fails by not answering until the caller gives up.
func Hang() Fault {
	return Fault{Name: "timeout", waits: true, fail: func(_ http.ResponseWriter, r *http.Request, done <-chan struct{}) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
		panic(http.ErrAbortHandler) // to return would be to answer 200
	}}
}

// Reset fails by resetting the connection.
func Reset() Fault {
	return Fault{Name: "reset", fail: func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // sends RST and not FIN
		}
		_ = conn.Close()
	}}
}

// Drip fails by sending a body a byte at a time, for as long as the caller listens.
func Drip(every time.Duration) Fault {
	return Fault{Name: "slow drip", waits: true, status: http.StatusOK, fail: func(w http.ResponseWriter, r *http.Request, done <-chan struct{}) {
		w.Header().Set("Content-Type", "application/json;charset=utf-8")
		flusher := http.NewResponseController(w)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			if _, err := w.Write([]byte(" ")); err != nil || flusher.Flush() != nil {
				return
			}
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			case <-done:
				panic(http.ErrAbortHandler)
			}
		}
	}}
}
