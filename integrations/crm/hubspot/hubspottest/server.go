// Package hubspottest is a local stand-in for HubSpot's contacts and properties. It
// checks what HubSpot checks (token, scopes, versions in paths, shapes, property
// definitions, rate limits), answers in HubSpot's words, and can be told to fail in
// each way a far end fails.
//
// What it does not have: search, associations, lists, OAuth, and the limits on the
// number of properties. Where HubSpot's behaviour is not documented it takes the
// stricter one: batch reads don't know secondary addresses, and null is refused.
package hubspottest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Token is the one the server accepts unless Options say otherwise.
const Token = "pat-local-0000-hubspottest"

// maxBody is how much of a request is read.
const maxBody = 1 << 20

// Options of [New]. The zero value is an account of its own with nothing in it.
type Options struct {
	Token          string        // accepted token; empty: Token
	ObjectsPath    string        // empty: /crm/v3/objects
	PropertiesPath string        // empty: /crm/v3/properties
	ReadOnly       bool          // the token lacks crm.objects.contacts.write
	NoSchemas      bool          // the token lacks crm.schemas.contacts.read and .write
	Limits         Limits        // zero: none
	RetryAfter     bool          // refusals for a rate limit carry Retry-After
	ReadLag        time.Duration // how long reads by e-mail and batch reads see the past
	FailureRate    float64       // share of requests that fail at random, 0 to 1
	RandomFaults   []Fault       // what they fail with; empty: [FastFaults]
	Seed           uint64        // of the random failures
	Addr           string        // address to listen on; empty: a free port of 127.0.0.1
	Now            func() time.Time
	Watch          func(Request) // is told of every answered request, one at a time
}

// Request is one that the server was sent.
type Request struct {
	Method string
	Path   string // as sent, escaped
	Query  url.Values
	Body   string
	Status int    // of the answer; 0 where there was none
	Fault  string // what it was made to fail with; empty: nothing
}

// Server is a HubSpot account behind an HTTP address.
type Server struct {
	o        Options
	listener net.Listener
	http     *http.Server
	done     chan struct{} // closed by Close, ends what hangs

	mu       sync.Mutex
	account  *account
	limiter  *limiter
	random   *rand.Rand
	faults   []Fault
	requests []Request
	serial   int64 // of correlation ids
}

// New starts a server. It panics where it can't listen.
func New(o Options) *Server {
	if o.Token == "" {
		o.Token = Token
	}
	if o.ObjectsPath == "" {
		o.ObjectsPath = "/crm/v3/objects"
	}
	if o.PropertiesPath == "" {
		o.PropertiesPath = "/crm/v3/properties"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.RandomFaults) == 0 {
		o.RandomFaults = FastFaults()
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", o.Addr)
	if err != nil {
		panic(fmt.Sprintf("hubspottest: listening: %v", err))
	}
	s := &Server{
		o: o, listener: listener, done: make(chan struct{}),
		account: newAccount(), limiter: &limiter{limits: o.Limits},
		random: rand.New(rand.NewPCG(o.Seed, 1)),
	}
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(listener) }() // ends with Close
	return s
}

// URL is the base address of the API.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Handler serves the API, for those who bring a listener of their own.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Close ends the server and every request under way.
func (s *Server) Close() {
	close(s.done)
	_ = s.http.Close()
}

// Requests returns what was sent so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// serve lets a request fail if it is its turn, and answers it otherwise.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	seen := Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.Query(), Body: string(body)}
	s.mu.Lock()
	fault, failing := s.nextFault(r)
	var a answer
	if !failing || fault.Stored {
		a = s.answer(r, body)
	}
	if failing {
		seen.Fault, seen.Status = fault.Name, fault.status
	} else {
		seen.Status = a.status
	}
	s.requests = append(s.requests, seen)
	if s.o.Watch != nil {
		s.o.Watch(seen)
	}
	s.mu.Unlock()
	if failing {
		fault.fail(w, r, s.done)
		return
	}
	a.write(w)
}

// answer is what HubSpot would say. The caller holds the lock.
func (s *Server) answer(r *http.Request, body []byte) answer {
	s.serial++
	now := s.o.Now()
	if r.Header.Get("Authorization") != "Bearer "+s.o.Token {
		return s.wrong(http.StatusUnauthorized, "INVALID_AUTHENTICATION",
			"Authentication credentials not found. This API supports OAuth 2.0 authentication and you can find more details at https://developers.hubspot.com/docs/methods/auth/oauth-overview")
	}
	header, policy := s.limiter.take(now)
	if policy != "" {
		a := s.limited(policy)
		maps.Copy(a.header, header)
		return a
	}
	if (r.Method == http.MethodPost || r.Method == http.MethodPatch) && !isJSON(r) {
		return s.wrong(http.StatusUnsupportedMediaType, "", "Unsupported Media Type")
	}
	a := s.route(r, body, now)
	if a.header == nil {
		a.header = http.Header{}
	}
	maps.Copy(a.header, header)
	return a
}

// route finds the operation. Paths are taken apart as sent, since an address in one
// may hold an escaped slash.
func (s *Server) route(r *http.Request, body []byte, now time.Time) answer {
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, s.o.ObjectsPath+"/contacts"); ok {
		return s.contacts(r, segments(rest), body, now)
	}
	if rest, ok := strings.CutPrefix(path, s.o.PropertiesPath+"/contacts"); ok {
		return s.properties(r, segments(rest), body)
	}
	return s.nowhere()
}

// segments takes the rest of a path apart.
func segments(rest string) []string {
	rest = strings.Trim(rest, "/")
	if rest == "" {
		return nil
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		if plain, err := url.PathUnescape(p); err == nil {
			parts[i] = plain
		}
	}
	return parts
}

func isJSON(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
}

// answer is a status with a JSON body, nil for none.
type answer struct {
	status int
	header http.Header
	body   any
}

func (a answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	var buf bytes.Buffer
	if err := json.NewEncoder(&buf).Encode(a.body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	w.WriteHeader(a.status)
	_, _ = w.Write(buf.Bytes()) // whoever went away needs no answer
}
