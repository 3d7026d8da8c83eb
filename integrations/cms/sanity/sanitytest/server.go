// Package sanitytest is a local stand-in for Sanity's content lake, for tests and
// demonstrations: a real HTTP server with the query and mutate APIs of one dataset, its
// documents in memory. It enforces what the original enforces (ids, types, tokens, API
// versions, parameter encoding, perspectives, sizes), understands the GROQ queries of the
// driver to the letter and refuses all others, and can be told to fail in every way a
// remote system fails.
//
// It was written from the vendor's documents, not from the driver: the two meet only in
// the bytes they exchange.
package sanitytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// Defaults of [Options].
const (
	DefaultProject = "standin1"
	DefaultDataset = "production"
	DefaultToken   = "sk-stand-in-write-token"
)

// Options describes a dataset.
type Options struct {
	// Project and Dataset name it. Empty: the defaults.
	Project, Dataset string
	// Token may read and write everything. Empty: DefaultToken.
	Token string
	// ReadToken may read everything. Empty: there is none.
	ReadToken string
	// Private hides everything from readers without a token.
	Private bool
	// MutationsPerSecond is how many transactions are taken before 429. 0: any number.
	MutationsPerSecond int
	// Webhook is told of what Publish does.
	Webhook Webhook
	// IndexLag is how long after Publish queries still see what was there before, as the
	// original's do for a moment after its webhook.
	IndexLag time.Duration
	// Listen is the address URL listens on. Empty: a free port of 127.0.0.1.
	Listen string
	// Observe is told of every finished request, one at a time. nil: nobody is.
	Observe func(Request)
	// Now tells the time. nil: time.Now.
	Now func() time.Time
}

// Server is a stand-in. Its methods may be called concurrently.
type Server struct {
	opts      Options
	done      chan struct{} // closed by Close
	observing sync.Mutex    // held while Options.Observe runs

	mu           sync.Mutex // guards what follows
	docs         map[string]json.RawMessage
	unsettled    map[string]unsettled // by _id
	transactions map[string]bool
	recent       []time.Time // of transactions within the last second
	faults       []Fault
	random       []Fault
	rate         float64
	rand         *rand.Rand
	requests     []Request
	serial       int
	listener     net.Listener
	http         *http.Server
}

// New returns a stand-in with an empty dataset. It listens once URL is called.
func New(opts Options) *Server {
	if opts.Project == "" {
		opts.Project = DefaultProject
	}
	if opts.Dataset == "" {
		opts.Dataset = DefaultDataset
	}
	if opts.Token == "" {
		opts.Token = DefaultToken
	}
	if opts.Listen == "" {
		opts.Listen = "127.0.0.1:0"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Server{
		opts: opts, done: make(chan struct{}),
		docs: map[string]json.RawMessage{}, unsettled: map[string]unsettled{}, transactions: map[string]bool{},
	}
}

// URL starts to listen at the first call and returns the address to use as the API's.
// It panics where the address can't be had, which a test or a demonstration can't mend.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		l, err := net.Listen("tcp", s.opts.Listen)
		if err != nil {
			panic(fmt.Sprintf("sanitytest: listening on %s: %v", s.opts.Listen, err))
		}
		s.listener = l
		s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
		go s.http.Serve(l)
	}
	return "http://" + s.listener.Addr().String()
}

// Handler returns the server's handler, for those who listen themselves.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Close ends all connections, those that hang as well.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return
	default:
	}
	close(s.done)
	if s.http != nil {
		_ = s.http.Close()
	}
}

// Documents returns all documents, drafts and submissions included, by _id.
func (s *Server) Documents() map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.docs)
}

// Replace makes these documents the whole dataset, as an import would. It fails on a
// document that the original would not take, and then changes nothing.
func (s *Server) Replace(docs ...json.RawMessage) error {
	next := make(map[string]json.RawMessage, len(docs))
	for i, raw := range docs {
		d, problem := readDocument(raw)
		if problem != "" {
			return fmt.Errorf("document %d: %s", i, problem)
		}
		next[d.id] = compact(raw)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.docs, s.unsettled = next, map[string]unsettled{}
	return nil
}

// compact takes the blanks out of a document, and nothing else.
func compact(raw json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		panic(fmt.Sprintf("sanitytest: %v", err)) // it was read a moment ago
	}
	return out.Bytes()
}
