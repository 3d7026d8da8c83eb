// Package sanitytest is a local stub of Sanity's content lake: a real HTTP server with
// the query and mutate APIs of one dataset, its documents in memory. It enforces what the
// original enforces (ids, types, tokens, API versions, perspectives), understands the
// driver's GROQ queries to the letter and refuses all others, and can be made to fail.
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

// The dataset of a stub, and the token that may do everything with it.
const (
	Project = "standin1"
	Dataset = "production"
	Token   = "sk-stand-in-write-token"
)

// Options describes a dataset.
type Options struct {
	ReadToken string // may read everything and write nothing; Token may do both
	Private   bool   // hides everything from readers without a token
	IndexLags bool   // queries see a change only if they name its event
}

// Request is a request that the server has seen. It holds no token.
type Request struct {
	Path   string
	API    string     // "query", "mutate", "live/events" or empty for an address that does not exist
	Params url.Values // parameters of the address
	Body   []byte
	Auth   string // "none", "read", "write" or "wrong"
	Fault  string // fault that it met, empty without one
}

// Server is a stub. Its methods may be called concurrently.
type Server struct {
	faulttest.Injector
	opts Options
	http *httptest.Server

	mu       sync.Mutex // guards the fields below
	docs     map[string]json.RawMessage
	indexed  map[string]json.RawMessage // what queries see that name no event, if the index lags
	requests []Request

	// The state of the event streams, and a channel that is closed when it changes. An event
	// is true if only streams with drafts have it; their ids count from 1.
	events  []bool
	silent  bool   // streams send nothing
	cuts    int    // number of times that all streams were ended
	parting string // event that streams end with; empty: they are cut
	changed chan struct{}
}

// New starts a stub with an empty dataset.
func New(opts Options) *Server {
	s := &Server{opts: opts, docs: map[string]json.RawMessage{}, changed: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL returns the address to use as the API's.
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

// Requests returns all requests so far, in the order they were answered.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Replace makes these documents the whole dataset, as an import would.
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

// commit makes documents the dataset and announces what changed. The caller holds the lock.
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

// document is a document taken apart.
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

// answer is an answer of the stub.
type answer struct {
	status int
	body   []byte
}

// failed is an error in the flat shape of the proxies in front of the data APIs.
func failed(status int, message string) answer {
	return answer{status, encode(map[string]any{"error": http.StatusText(status), "message": message})}
}

// encode encodes a value that is made of maps and strings only.
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
	right := answer{body: []byte(`{"ms":1,"result":[{"_id":`)}
	if !spoiled || fault.Acted {
		right = s.handle(seen, path)
	}

	if spoiled {
		seen.Fault = fault.String()
	}

	// It is recorded before the answer, so that a client that has the answer finds it.
	s.mu.Lock()
	s.requests = append(s.requests, seen)
	s.mu.Unlock()

	if spoiled {
		own := failed(fault.Sends(), "told to fail").body
		if fault.Mode == faulttest.Partial {
			own = []byte(`{"ms":1,"result":null,"transactionId":"partial","results":[]}`)
		}
		fault.Spoil(w, r, right.body, own)
		return
	}
	if seen.API == "live/events" && right.status == http.StatusOK {
		s.stream(w, r)
		return
	}

	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(right.status)
	_, _ = w.Write(right.body)
}

// handle answers as Sanity would.
func (s *Server) handle(seen Request, path []string) answer {
	switch {
	case path == nil:
		return failed(http.StatusNotFound, "Not Found")
	case path[2] != Dataset:
		return failed(http.StatusNotFound,
			fmt.Sprintf("Dataset %q not found for project ID %q", path[2], Project))
	case seen.Auth == "wrong":
		return failed(http.StatusUnauthorized, "Unauthorized - Session not found")
	case seen.API == "mutate":
		return s.mutate(seen)
	case seen.Auth == "none" && seen.Params.Get("includeDrafts") == "true":
		return failed(http.StatusUnauthorized, "drafts need a token")
	case seen.API == "live/events":
		return answer{status: http.StatusOK}
	}

	return s.query(seen)
}

// rights returns what a request's token allows.
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
