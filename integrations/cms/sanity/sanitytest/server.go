// Package sanitytest is a local stub of Sanity's content lake: a real HTTP server with
// the query, mutate and live APIs of one dataset and its documents in memory. It enforces
// Sanity's rules for ids, types, tokens, API versions and perspectives, accepts only the
// exact GROQ queries of the driver, and can inject faults.
package sanitytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"siteapi/integrations/upstream/faulttest"
)

// These constants identify the stub's dataset and its token with all permissions.
const (
	Project = "standin1"
	Dataset = "production"
	Token   = "sk-stand-in-write-token"
)

// Options describes a dataset.
type Options struct {
	ReadToken string // may only read; Token may read and write
	Private   bool   // hides all documents from readers without a token
	IndexLags bool   // queries see a change only if they name its event
}

// Request is a recorded request. It contains no token.
type Request struct {
	Path   string
	API    string     // "query", "mutate", "live/events", or empty for an unknown path
	Params url.Values // parameters of the URL
	Body   []byte
	Auth   string // "none", "read", "write" or "wrong"
}

// Server is a stub. Its methods may be called concurrently.
type Server struct {
	faulttest.Injector
	opts Options
	http *httptest.Server

	mu       sync.Mutex // guards the fields below
	docs     map[string]json.RawMessage
	indexed  map[string]json.RawMessage // visible to queries without an event if the index lags
	requests []Request

	// The fields below are the state of the event streams. An event is true if only
	// streams with drafts send it; event ids count from 1.
	events    []bool
	silent    bool          // streams send no data
	cuts      int           // number of times that all streams were ended
	lastEvent string        // last event of ended streams; empty: they are cut
	changed   chan struct{} // closed when the state changes
}

// New starts a stub with an empty dataset.
func New(opts Options) *Server {
	s := &Server{opts: opts, docs: map[string]json.RawMessage{}, changed: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL returns the base address of the API.
func (s *Server) URL() string { return s.http.URL }

// Close ends all connections.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Documents returns all documents, drafts and leads included, by _id.
func (s *Server) Documents() map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.docs)
}

// Requests returns all requests so far, in the order of their responses.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Replace replaces the entire dataset with these documents, like an import.
func (s *Server) Replace(docs ...json.RawMessage) error {
	next := make(map[string]json.RawMessage, len(docs))
	for i, raw := range docs {
		d, err := readDocument(raw)
		if err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
		next[d.id] = d.raw
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit(next)
	s.indexed = next
	return nil
}

// commit replaces the dataset and announces a change. The caller holds the lock.
func (s *Server) commit(next map[string]json.RawMessage) {
	changed, draft := false, true
	for _, docs := range []map[string]json.RawMessage{s.docs, next} {
		for id := range docs {
			if !bytes.Equal(s.docs[id], next[id]) {
				changed, draft = true, draft && !isPublished(id)
			}
		}
	}

	s.docs = next
	if changed {
		s.events = append(s.events, draft)
		s.notify()
	}
}

// document is a decoded document.
type document struct {
	id, typ string
	fields  map[string]any
	raw     json.RawMessage
}

var idForm = regexp.MustCompile(`^[a-zA-Z0-9._][a-zA-Z0-9._-]{0,127}$`)

func readDocument(raw json.RawMessage) (document, error) {
	var d document
	var out bytes.Buffer
	if json.Unmarshal(raw, &d.fields) != nil || d.fields == nil || json.Compact(&out, raw) != nil {
		return d, fmt.Errorf("the document is not an object")
	}

	d.raw = out.Bytes()
	d.id, _ = d.fields["_id"].(string)
	d.typ, _ = d.fields["_type"].(string)

	if !idForm.MatchString(d.id) {
		return d, fmt.Errorf("document ID %q is missing, too long or contains invalid characters", d.id)
	}
	if d.typ == "" {
		return d, fmt.Errorf("the document must have a _type")
	}

	return d, nil
}

// response is what the stub sends back.
type response struct {
	status int
	body   []byte
}

// failed returns an error in the flat format of the proxies in front of the data APIs.
func failed(status int, message string) response {
	return response{status, encode(map[string]any{"error": http.StatusText(status), "message": message})}
}

// encode encodes a value that consists of maps and strings only.
func encode(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSpace(out.Bytes())
}

var dataPath = regexp.MustCompile(`^/v\d{4}-\d{2}-\d{2}/data/(query|mutate|live/events)/([^/]+)$`)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}

	seen := Request{Path: r.URL.Path, Params: r.URL.Query(), Body: body, Auth: s.rights(r)}
	path := dataPath.FindStringSubmatch(r.URL.Path)
	if path != nil {
		seen.API = path[1]
	}

	fault, spoiled := s.Next(r)
	right := response{body: []byte(`{"ms":1,"result":[{"_id":`)}
	if !spoiled || fault.Acted {
		right = s.handle(seen, path)
	}

	// The request is recorded before the response is sent, so a client that has received
	// the response finds it.
	s.mu.Lock()
	s.requests = append(s.requests, seen)
	s.mu.Unlock()

	if spoiled {
		own := failed(fault.Sends(), "injected fault").body
		if fault.Mode == faulttest.Partial {
			own = []byte(`{"ms":1,"result":null,"transactionId":"partial","results":[]}`)
		}
		fault.Spoil(w, r, right.body, own)
		return
	}
	if seen.API == "live/events" && right.status == 200 {
		s.stream(w, r)
		return
	}

	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(right.status)
	_, _ = w.Write(right.body)
}

// handle returns Sanity's response to a request.
func (s *Server) handle(seen Request, path []string) response {
	switch {
	case path == nil:
		return failed(404, "Not Found")
	case path[2] != Dataset:
		return failed(404,
			fmt.Sprintf("Dataset %q not found for project ID %q", path[2], Project))
	case seen.Auth == "wrong":
		return failed(401, "Unauthorized - Session not found")
	case seen.API == "mutate":
		return s.mutate(seen)
	case seen.Auth == "none" && seen.Params.Get("includeDrafts") == "true":
		return failed(401, "drafts need a token")
	case seen.API == "live/events":
		return response{status: 200}
	}

	return s.query(seen)
}

// rights returns the permissions of a request's token.
func (s *Server) rights(r *http.Request) string {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case r.Header.Get("Authorization") == "":
		return "none"
	case bearer && token == Token:
		return "write"
	case bearer && token == s.opts.ReadToken && token != "":
		return "read"
	}
	return "wrong"
}
