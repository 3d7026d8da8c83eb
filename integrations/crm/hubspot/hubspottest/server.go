// Package hubspottest is a local stub of HubSpot's contacts, deals, pipelines and
// properties. It validates the token, scopes, paths, formats, property names, addresses
// and unique values of the driver's requests like HubSpot, returns HubSpot's messages, and can inject
// faults. Where HubSpot's behavior is not documented, the stub is stricter: batch reads
// do not find secondary addresses, and a deal in the recycling bin keeps
// its unique value.
package hubspottest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"siteapi/integrations/upstream/faulttest"
)

// Token is the token that the server accepts.
const Token = "pat-local-0000-hubspottest"

// Options configures the account of [New]. The zero value is an empty account whose token
// has all scopes.
type Options struct {
	Lacks    []string // beginnings of the scopes that the token lacks
	Required []string // properties that new records need, such as "deals.budget"
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
	serial   int                           // number of the latest record
	records  map[string]map[string]*record // by type and id
	bin      map[string][]*record          // deleted deals, below their type
	merged   map[string]string             // ids of the contacts that others were merged into
	groups   map[string]bool
	defs     map[string]definition // by type of record and name
}

// New starts a server.
func New(o Options) *Server {
	s := &Server{
		o:       o,
		serial:  100,
		records: map[string]map[string]*record{"contacts": {}, "deals": {}},
		bin:     map[string][]*record{},
		merged:  map[string]string{},
		groups:  map[string]bool{},
		defs:    map[string]definition{},
	}
	for kind, names := range map[string]string{
		"contacts": "email firstname lastname phone company lifecyclestage hs_lead_status",
		"deals":    "dealname dealstage pipeline amount deal_currency_code",
	} {
		for name := range strings.FieldsSeq(names) {
			s.defs[kind+"."+name] = definition{Name: name}
		}
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Restrict replaces the options.
func (s *Server) Restrict(o Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o = o
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
	return faulttest.Respond(429).RetryAfter(wait).With(
		`{"status":"error","message":"You have reached your limit.",` +
			`"errorType":"RATE_LIMIT","policyName":"` + policy + `"}`)
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
	var a response
	if !failing || fault.Acted {
		a = s.respond(r, body)
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

// response has a JSON body, or nil for none.
type response struct {
	status int
	body   map[string]any
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
// slash. Associations are served by v4 and by date versions.
var address = regexp.MustCompile(
	`^/crm/(?:(v[34])/(objects|properties|pipelines)|(objects|properties|pipelines)/(2026-0[39]))/(contacts|deals)/?(.*)$`)

// details matches the path of the details of the account.
var details = regexp.MustCompile(`^/account-info/(v3|2026-0[39])/details$`)

// call is a request to the API.
type call struct {
	*http.Request
	api, kind, rest string // kind is the type of record
	body            []byte
}

// scope returns the scope that the call requires.
func (c call) scope() string {
	access := "write"
	if c.Method == "GET" || c.rest == "search" || c.rest == "batch/read" {
		access = "read"
	}
	if c.api == "properties" {
		return "crm.schemas." + c.kind + "." + access
	}
	return "crm.objects." + c.kind + "." + access
}

// respond returns HubSpot's response to a request.
func (s *Server) respond(r *http.Request, body []byte) response {
	if r.Header.Get("Authorization") != "Bearer "+Token {
		return wrong(401, "INVALID_AUTHENTICATION", "Authentication credentials not found.")
	}

	if details.MatchString(r.URL.Path) {
		if slices.Contains(s.o.Lacks, "oauth") {
			return wrong(403, "MISSING_SCOPES", "This app hasn't been granted all required scopes to make this call.")
		}
		return response{200, map[string]any{"portalId": 4711, "uiDomain": "app-eu1.hubspot.com"}}
	}

	path := address.FindStringSubmatch(r.URL.EscapedPath())
	if path == nil || (path[1] == "v4") != (path[4] == "" && strings.Contains(path[6], "associations/")) {
		return response{404, map[string]any{"html": "404 Not Found"}} // not an error of the API
	}
	c := call{r, path[2] + path[3], path[5], path[6], body}

	scope := c.scope()
	switch {
	case slices.ContainsFunc(s.o.Lacks, func(lacked string) bool { return strings.HasPrefix(scope, lacked) }):
		return wrong(403, "MISSING_SCOPES",
			"This app hasn't been granted all required scopes to make this call.",
			map[string]any{"context": map[string]any{"requiredGranularScopes": []string{scope}}})
	case c.rest == "batch/read":
		return s.readBatch(c)
	case c.api == "properties":
		return s.define(c)
	case c.api == "pipelines":
		return response{200, map[string]any{"results": pipelines()}}
	}
	return s.recordsAPI(c)
}

// recordsAPI serves the endpoints of contacts and deals.
func (s *Server) recordsAPI(c call) response {
	switch c.Method + " " + c.rest {
	case "GET ":
		return response{200, map[string]any{"results": []any{}}}
	case "POST ":
		return s.write(c, nil)
	case "POST search":
		return s.search(c)
	case "POST gdpr-delete":
		return s.deletePermanently(c)
	}

	key, rest, nested := strings.Cut(c.rest, "/")
	key, err := url.PathUnescape(key)
	property := c.URL.Query().Get("idProperty")
	if property != "" && property != "email" && !s.defs[c.kind+"."+property].HasUniqueValue {
		return wrong(400, "VALIDATION_ERROR", "PROPERTY_DOESNT_EXIST: no unique property "+property)
	}
	found := s.find(c.kind, property, key)
	switch {
	case err != nil || found == nil:
		return notFound()
	case nested:
		return s.associate(c, found, rest)
	case c.Method == "PATCH":
		return s.write(c, found)
	case c.Method == "DELETE" && c.kind == "deals":
		s.discard(c.kind, found)
		return response{204, nil}
	}
	query := c.URL.Query()
	return response{200, found.shown(query["properties"], query["propertiesWithHistory"]...)}
}

func notFound() response { return wrong(404, "OBJECT_NOT_FOUND", "resource not found") }

// wrong returns an error in HubSpot's format, possibly with parts.
func wrong(status int, category, message string, parts ...any) response {
	body := map[string]any{
		"status":        "error",
		"message":       message,
		"correlationId": "aeb5f871-7f07-4993-9211-075dc63e7cbf",
		"category":      category,
	}
	if len(parts) > 0 {
		body["errors"] = parts
	}
	return response{status, body}
}
