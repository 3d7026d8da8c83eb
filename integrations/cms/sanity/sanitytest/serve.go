package sanitytest

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Request is a request the server has seen. It holds no token.
type Request struct {
	At     time.Time
	Method string
	Path   string
	API    string     // "query", "mutate" or empty for an address there is not
	Params url.Values // of the address
	Body   []byte
	Auth   string // "none", "read", "write" or "wrong"
	Status int    // of the answer; 0: there was none
	Fault  Mode   // that it met; empty: none
}

// Requests returns all requests so far, in the order they were answered.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Rights of a request.
const (
	authNone  = "none"
	authRead  = "read"
	authWrite = "write"
	authWrong = "wrong"
)

const (
	maxMutation = 4 << 20   // bytes of a transaction
	maxAddress  = 11 * 1024 // bytes of an address
)

var dataPath = regexp.MustCompile(`^/v([^/]+)/data/(query|mutate)/([^/]+)$`)

// answer is what is sent back.
type answer struct {
	status int
	body   []byte
}

func (a answer) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// failed is an error in the flat shape of what stands in front of the data APIs.
func failed(status int, name, message string) answer {
	return answer{status, encode(map[string]any{"statusCode": status, "error": name, "message": message})}
}

func encode(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("sanitytest: %v", err)) // made up of maps and strings only
	}
	return bytes.TrimSpace(out.Bytes())
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, readErr := io.ReadAll(io.LimitReader(r.Body, maxMutation+1))
	seen := Request{
		At: s.opts.Now(), Method: r.Method, Path: r.URL.Path, Params: r.URL.Query(), Body: body, Auth: s.rights(r),
	}
	if m := dataPath.FindStringSubmatch(r.URL.Path); m != nil {
		seen.API = m[2]
	}
	fault, spoiled := s.nextFault(seen.API)
	var right answer
	if readErr == nil && (!spoiled || fault.Acted || fault.Mode == BrokenJSON && seen.API == "query") {
		right = s.handle(r, seen)
	}
	if spoiled && right.body == nil {
		right.body = []byte(`{"ms":1,"result":[{"_id":`) // what half an answer is made of
	}
	// It is recorded before the answer goes out, so that whoever has the answer finds it.
	if spoiled {
		seen.Fault, seen.Status = fault.Mode, fault.sends()
		s.record(seen)
		s.spoil(w, r, fault, seen.API, right)
		return
	}
	seen.Status = right.status
	s.record(seen)
	right.write(w)
}

func (s *Server) record(seen Request) {
	s.mu.Lock()
	s.requests = append(s.requests, seen)
	s.mu.Unlock()
	if s.opts.Observe != nil {
		s.observing.Lock()
		defer s.observing.Unlock()
		s.opts.Observe(seen)
	}
}

// handle makes the right answer.
func (s *Server) handle(r *http.Request, seen Request) answer {
	m := dataPath.FindStringSubmatch(seen.Path)
	if m == nil {
		return failed(http.StatusNotFound, "Not Found", "Not Found")
	}
	if len(r.URL.RequestURI()) > maxAddress {
		return failed(http.StatusRequestURITooLong, "URI Too Long", "the address is too long: use POST")
	}
	if err := s.checkVersion(m[1]); err != nil {
		return failed(http.StatusBadRequest, "Bad Request", err.Error())
	}
	if m[3] != s.opts.Dataset {
		return failed(http.StatusNotFound, "Not Found", fmt.Sprintf("Dataset %q not found for project ID %q", m[3], s.opts.Project))
	}
	if seen.Auth == authWrong {
		return answer{http.StatusUnauthorized, encode(map[string]any{
			"statusCode": 401, "error": "Unauthorized", "errorCode": "SIO-401-ANF", "message": "Unauthorized - Session not found",
		})}
	}
	if seen.API == "mutate" {
		return s.mutate(r, seen)
	}
	return s.query(r, seen, m[1])
}

// rights tells what a request's token allows.
func (s *Server) rights(r *http.Request) string {
	header := r.Header.Get("Authorization")
	token, bearer := strings.CutPrefix(header, "Bearer ")
	equal := func(want string) bool {
		return want != "" && subtle.ConstantTimeCompare([]byte(token), []byte(want)) == 1
	}
	switch {
	case header == "":
		return authNone
	case bearer && equal(s.opts.Token):
		return authWrite
	case bearer && equal(s.opts.ReadToken):
		return authRead
	}
	return authWrong
}

// checkVersion takes dates up to today.
func (s *Server) checkVersion(version string) error {
	at, err := time.Parse(time.DateOnly, version)
	if err != nil {
		return errors.New("Invalid API version: expected a date such as v2025-02-19")
	}
	if at.After(s.opts.Now().Add(24 * time.Hour)) {
		return errors.New("Invalid API version: the date is in the future")
	}
	return nil
}
