// Package hubspottest is a local stub of HubSpot's contacts and properties. It checks
// what HubSpot checks (token, scopes, paths, shapes, property definitions), answers in
// HubSpot's words, and can be made to fail. Where HubSpot's behaviour is not
// documented, the stub takes the stricter one: batch reads do not know secondary
// addresses, and null is refused.
package hubspottest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"siteapi/integrations/upstream/faulttest"
)

// Token is the token that the server accepts.
const Token = "pat-local-0000-hubspottest"

// Options describes the account of [New]. The zero value is an account with nothing in
// it.
type Options struct {
	Version   string        // a date, or empty for v3
	NoSchemas bool          // the token lacks crm.schemas.contacts.read and .write
	ReadLag   time.Duration // time in which reads by e-mail do not see a new contact
}

// Request is a request that the server has seen.
type Request struct {
	Method string
	Path   string // escaped, as it was sent
	Query  url.Values
	Body   string
	Status int    // status of the answer, 0 without one
	Fault  string // fault that it met, empty without one
}

// Server is a HubSpot account behind an HTTP address.
type Server struct {
	faulttest.Injector
	o    Options
	http *httptest.Server

	mu       sync.Mutex // guards the fields below
	requests []Request
	serial   int // number of the latest contact
	contacts map[string]*record
	gone     []*record         // deleted and merged ones, which searches still find
	merged   map[string]string // ids of merged contacts, and of what they became
	groups   map[string]bool
	defs     map[string]definition
}

// New starts a server.
func New(o Options) *Server {
	s := &Server{
		o:        o,
		serial:   100,
		contacts: map[string]*record{},
		merged:   map[string]string{},
		groups:   map[string]bool{"contactinformation": true},
		defs:     standardDefinitions(),
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL is the base address of the API.
func (s *Server) URL() string { return s.http.URL }

// Close ends the server and every request under way.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Limited fails with the refusal of a rate limit: DAILY, TEN_SECONDLY_ROLLING or
// SECONDLY. Wait is the Retry-After header, which is left out if it is empty.
func Limited(policy, wait string) faulttest.Fault {
	return faulttest.Answer(http.StatusTooManyRequests).RetryAfter(wait).With(
		`{"status":"error","message":"You have reached your limit.",` +
			`"errorType":"RATE_LIMIT","policyName":"` + policy + `"}`)
}

// Garbage fails with status 200 and a body that is not JSON.
func Garbage() faulttest.Fault {
	return faulttest.Answer(http.StatusOK).With(`<html><body>Welcome to the network! {"id`)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	seen := Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.Query(), Body: string(body)}

	fault, failing := s.Next(r)

	s.mu.Lock()
	var a answer
	if !failing || fault.Acted {
		a = s.answer(r, body)
	}
	seen.Status = a.status
	if failing {
		seen.Fault, seen.Status = fault.String(), fault.Sends()
	}

	s.requests = append(s.requests, seen)
	s.mu.Unlock()

	if failing {
		fault.Spoil(w, r, nil, encode(s.wrong(0, "", "internal error").body))
		return
	}

	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}

	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(a.status)
	_, _ = w.Write(encode(a.body))
}

// answer is a status with a JSON body, nil for none.
type answer struct {
	status int
	body   any
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value is made of maps and strings only
	}
	return text
}

// answer answers a request as HubSpot would. Paths are parsed in their escaped form,
// since an e-mail address in a path may contain an escaped slash.
func (s *Server) answer(r *http.Request, body []byte) answer {
	if r.Header.Get("Authorization") != "Bearer "+Token {
		return s.wrong(http.StatusUnauthorized, "INVALID_AUTHENTICATION",
			"Authentication credentials not found.")
	}

	objects, properties := "/crm/v3/objects", "/crm/v3/properties"
	if s.o.Version != "" {
		objects, properties = "/crm/objects/"+s.o.Version, "/crm/properties/"+s.o.Version
	}

	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), objects+"/contacts"); ok {
		return s.contactsAPI(r, strings.Trim(rest, "/"), body)
	}
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), properties+"/contacts"); ok {
		return s.propertiesAPI(r.Method, strings.Trim(rest, "/"), body)
	}
	return nowhere()
}

// nowhere returns the answer for an unknown path, an HTML page instead of a JSON error.
func nowhere() answer {
	return answer{http.StatusNotFound, "<html><body><h1>404 Not Found</h1></body></html>"}
}

// wrong returns an error in HubSpot's form.
func (s *Server) wrong(status int, category, message string) answer {
	id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", status)
	p := map[string]any{"status": "error", "message": message, "correlationId": id}
	if category != "" {
		p["category"] = category
	}
	return answer{status, p}
}
