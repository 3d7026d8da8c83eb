// Package hubspottest is a local stub of HubSpot's contacts and properties. It validates
// the token, scopes, paths, formats and property names of the driver's requests like
// HubSpot, returns HubSpot's messages, and can inject faults. Where HubSpot's behavior is
// not documented, the stub is stricter: batch reads do not find secondary addresses, and
// null is refused.
package hubspottest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"

	"siteapi/integrations/upstream/faulttest"
)

// Token is the token that the server accepts.
const Token = "pat-local-0000-hubspottest"

// Options configures the account of [New]. The zero value is an empty account.
type Options struct {
	NoSchemas bool // the token lacks crm.schemas.contacts.read and .write
}

// Request is a recorded request.
type Request struct {
	Method string
	Path   string // in escaped form, as sent
	Fault  string // injected fault, if any
}

// Server is a HubSpot account served over HTTP.
type Server struct {
	faulttest.Injector
	o    Options
	http *httptest.Server

	mu       sync.Mutex // guards the fields below
	requests []Request
	serial   int // number of the latest contact
	contacts map[string]*record
	groups   map[string]bool
	defs     map[string]definition
}

// New starts a server.
func New(o Options) *Server {
	s := &Server{
		o:        o,
		serial:   100,
		contacts: map[string]*record{},
		groups:   map[string]bool{},
		defs:     map[string]definition{},
	}
	for _, name := range []string{"email", "firstname", "lastname", "phone", "company"} {
		s.defs[name] = definition{Name: name}
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL returns the base address of the API.
func (s *Server) URL() string { return s.http.URL }

// Close stops the server and aborts all requests.
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

// Limited is a fault that returns a rate limit error: DAILY, TEN_SECONDLY_ROLLING or
// SECONDLY. Wait is the Retry-After header; an empty value omits the header.
func Limited(policy, wait string) faulttest.Fault {
	return faulttest.Answer(http.StatusTooManyRequests).RetryAfter(wait).With(
		`{"status":"error","message":"You have reached your limit.",` +
			`"errorType":"RATE_LIMIT","policyName":"` + policy + `"}`)
}

// Garbage is a fault that returns status 200 and a body that is not JSON.
func Garbage() faulttest.Fault {
	return faulttest.Answer(http.StatusOK).With(`<html><body>Welcome to the network! {"id`)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	seen := Request{Method: r.Method, Path: r.URL.EscapedPath()}
	fault, failing := s.Next(r)
	if failing {
		seen.Fault = fault.String()
	}

	s.mu.Lock()
	s.requests = append(s.requests, seen)
	var a answer
	if !failing || fault.Acted {
		a = s.answer(r, body)
	}
	s.mu.Unlock()

	if failing {
		fault.Spoil(w, r, nil, encode(wrong(0, "", "internal error").body))
		return
	}

	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(a.status)
	if a.body != nil {
		_, _ = w.Write(encode(a.body))
	}
}

// answer is a response with a JSON body, or nil for no body.
type answer struct {
	status int
	body   any
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values consist of maps and strings only
	}
	return text
}

// address matches a path of the API: v3 precedes its name, and a date version follows it.
// Paths are parsed in escaped form, because an e-mail address may contain an escaped
// slash.
var address = regexp.MustCompile(`^/crm/(?:v3/)?(objects|properties)(?:/2026-03)?/contacts/?([^/]*(?:/read)?)$`)

// answer returns HubSpot's response to a request.
func (s *Server) answer(r *http.Request, body []byte) answer {
	if r.Header.Get("Authorization") != "Bearer "+Token {
		return wrong(http.StatusUnauthorized, "INVALID_AUTHENTICATION", "Authentication credentials not found.")
	}

	path := address.FindStringSubmatch(r.URL.EscapedPath())
	switch {
	case path == nil: // an HTML page instead of a JSON error
		return answer{http.StatusNotFound, "<html><body><h1>404 Not Found</h1></body></html>"}
	case path[1] == "objects":
		return s.contactsAPI(r, path[2], body)
	}
	return s.propertiesAPI(path[2], body)
}

func notFound() answer { return wrong(http.StatusNotFound, "OBJECT_NOT_FOUND", "resource not found") }

// wrong returns an error in HubSpot's format.
func wrong(status int, category, message string) answer {
	return answer{status, map[string]any{
		"status":        "error",
		"message":       message,
		"correlationId": "aeb5f871-7f07-4993-9211-075dc63e7cbf",
		"category":      category,
	}}
}

// definition is a property of contacts.
type definition struct{ Name, Label, Type, FieldType, GroupName string }

// Defined returns the type and field type of a property, for example "number/number".
func (s *Server) Defined(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.defs[name].Type + "/" + s.defs[name].FieldType
}

// propertiesAPI creates groups and properties.
func (s *Server) propertiesAPI(rest string, body []byte) answer {
	var def definition
	err := json.Unmarshal(body, &def)
	isGroup := rest == "groups"

	switch {
	case s.o.NoSchemas:
		a := wrong(http.StatusForbidden, "MISSING_SCOPES",
			"This app hasn't been granted all required scopes to make this call.")
		a.body.(map[string]any)["errors"] = []any{map[string]any{
			"context": map[string]any{"requiredGranularScopes": []string{"crm.schemas.contacts.write"}},
		}}
		return a
	case err != nil || def.Name == "" || def.Label == "":
		return wrong(http.StatusBadRequest, "VALIDATION_ERROR", "name and label are required")
	case isGroup && s.groups[def.Name] || !isGroup && s.defs[def.Name].Name != "":
		return wrong(http.StatusConflict, "CONFLICT", "Property named "+def.Name+" already exists")
	case isGroup:
		s.groups[def.Name] = true
	case !s.groups[def.GroupName] || def.Type == "" || def.FieldType == "":
		return wrong(http.StatusBadRequest, "VALIDATION_ERROR", "type, fieldType and an existing group are required")
	default:
		s.defs[def.Name] = def
	}
	return answer{http.StatusCreated, nil}
}
