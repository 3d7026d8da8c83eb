package apptest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/renameio/v2"

	"siteapi/schema/operations"
)

// Client sends requests to a service, and reads its data folder.
type Client struct {
	T       *testing.T
	Base    string
	DataDir string
	Log     *SyncBuffer  // the log of the service
	HTTP    *http.Client // HTTP if nil
}

// Unpooled opens a connection for each request. A service may close an idle connection just as a POST is sent on
// it, which no server can prevent, and which fails the request.
var Unpooled = &http.Transport{MaxIdleConnsPerHost: -1}

// HTTP is a client that follows redirects.
var HTTP = &http.Client{Transport: Unpooled}

// NoRedirects is a client that follows no redirects.
var NoRedirects = &http.Client{
	Transport:     Unpooled,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Response is a response whose body was read.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

func (r Response) String() string { return fmt.Sprintf("%d %s", r.Status, r.Body) }

// Has reports whether the body contains a string.
func (r Response) Has(text string) bool { return bytes.Contains(r.Body, []byte(text)) }

// Is reports whether a response has a status, and its body contains a string.
func (r Response) Is(status int, text string) bool { return r.Status == status && r.Has(text) }

// Send sends a request. Headers are given as "Name: value".
func Send(
	ctx context.Context, client *http.Client, method, address, body string, headers ...string,
) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}

	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	return client.Do(req)
}

// Do sends a request. Headers are given as "Name: value".
func (c *Client) Do(method, path, body string, headers ...string) Response {
	c.T.Helper()
	resp, err := Send(c.T.Context(), cmp.Or(c.HTTP, HTTP), method, c.Base+path, body, headers...)
	must(c.T, err)
	defer func() { _ = resp.Body.Close() }()

	var response io.Reader = resp.Body
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		response = io.LimitReader(response, 1) // a stream ends when its client disconnects
	}
	data, err := io.ReadAll(response)
	must(c.T, err)
	return Response{resp.StatusCode, resp.Header, data}
}

// Query runs a GraphQL operation.
func (c *Client) Query(document string, variables map[string]any, headers ...string) Response {
	c.T.Helper()
	body, err := json.Marshal(object{"query": document, "variables": variables})
	must(c.T, err)
	return c.Do("POST", "/graphql", string(body), headers...)
}

// Post sends JSON, and returns the status and the JSON of the response.
func (c *Client) Post(path string, body any) (status int, response object) {
	c.T.Helper()
	data, err := json.Marshal(body)
	must(c.T, err)

	got := c.Do("POST", path, string(data))
	c.read(got, &response)
	return got.Status, response
}

// read decodes the JSON of a response.
func (c *Client) read(r Response, to any) {
	c.T.Helper()
	if err := json.Unmarshal(r.Body, to); err != nil {
		c.T.Fatalf("%v: %d %s", err, r.Status, r.Body)
	}
}

// Submit submits the lead of NewLead, and returns its id.
func (c *Client) Submit(session string, changes ...string) string {
	c.T.Helper()
	return c.MustSubmit("REST", NewLead(session, changes...))
}

// MustSubmit submits a lead that must be accepted, and returns its id.
func (c *Client) MustSubmit(endpoint string, input object, headers ...string) string {
	c.T.Helper()
	got := c.SubmitThrough(endpoint, input, headers...)
	if got.ID() == "" {
		c.T.Fatalf("submitting %v: %s", input, got)
	}
	return got.ID()
}

// SubmitThrough submits a lead through one endpoint.
func (c *Client) SubmitThrough(endpoint string, input object, headers ...string) Outcome {
	c.T.Helper()
	return c.Through(endpoint, "submitQuote", object{"input": input}, headers...)
}

// TrackThrough tracks the state of a session through one endpoint.
func (c *Client) TrackThrough(endpoint string, input object) Outcome {
	c.T.Helper()
	return c.Through(endpoint, "trackQuote", object{"input": input})
}

// Logs waits until the log contains a string.
func (c *Client) Logs(text string) {
	c.T.Helper()
	Eventually(c.T, text+" is in the log", func() bool { return c.Log.Has(text) })
}

// Operate runs an operation with the operators' token of [LiveEnv].
func (c *Client) Operate(document string) {
	c.T.Helper()
	got := c.Query(document, nil, OperatorAuth)
	if got.Status != 200 || strings.Contains(string(got.Body), "errors") {
		c.T.Fatalf("%s: %d %s", document, got.Status, got.Body)
	}
}

// Outcome is the result of an operation, the same for both endpoints.
type Outcome struct {
	Status    int            // status of the REST response, 0 for GraphQL
	Data      map[string]any // nil after an error
	Code      string
	Fields    map[string]string // message by field
	RequestID string
	Header    http.Header
	Raw       string
}

func (o Outcome) String() string { return fmt.Sprint(o.Status, " ", o.Raw) }

// ID returns the id of a submitted lead, or an empty string.
func (o Outcome) ID() string {
	id, _ := o.Data["submissionId"].(string)
	return id
}

// failure is an error in the form of both endpoints.
type failure struct {
	Code, RequestID string
	Errors          []struct{ Field, Message string }
}

// fail turns an outcome into an error.
func (o *Outcome) fail(f failure) {
	o.Data, o.Code, o.RequestID = nil, f.Code, f.RequestID
	o.Fields = map[string]string{}
	for _, e := range f.Errors {
		o.Fields[e.Field] = e.Message
	}
}

// FieldNames returns the invalid fields of an outcome, sorted.
func (o Outcome) FieldNames() []string {
	return slices.Sorted(maps.Keys(o.Fields))
}

var documents = sync.OnceValues(operations.All)

// Through runs the operation document of a root field through one endpoint. It must have
// a REST route.
func (c *Client) Through(endpoint, root string, vars map[string]any, headers ...string) Outcome {
	c.T.Helper()
	all, err := documents()
	must(c.T, err)
	op := all[slices.IndexFunc(all, func(op *operations.Operation) bool {
		return op.Root.Name == root && op.Rest != nil
	})]
	if endpoint == "GraphQL" {
		return c.GraphQLOutcome(c.Query(op.Text, vars, headers...))
	}

	return c.RESTOutcome(c.Route(op, vars, headers...))
}

// Route sends a request to the route of an operation. Variables are parameters of the
// query, fields of the body, or the body itself.
func (c *Client) Route(op *operations.Operation, vars map[string]any, headers ...string) Response {
	c.T.Helper()
	query, body := url.Values{}, ""
	for _, name := range op.Rest.Query {
		if vars[name] != nil {
			query.Set(name, fmt.Sprint(vars[name]))
		}
	}
	if op.Rest.Body != "" || op.Rest.BodyFields != nil {
		var sent any = vars
		if op.Rest.Body != "" {
			sent = vars[op.Rest.Body]
		}
		data, err := json.Marshal(sent)
		must(c.T, err)
		body = string(data)
	}
	return c.Do(op.Rest.Method, op.Rest.Path+"?"+query.Encode(), body, headers...)
}

// GraphQLOutcome reads a GraphQL response with one root field.
func (c *Client) GraphQLOutcome(r Response) Outcome {
	c.T.Helper()
	var response struct {
		Data   map[string]any
		Errors []struct{ Extensions failure }
	}
	c.read(r, &response)

	o := Outcome{Header: r.Header, Raw: string(r.Body)}
	for _, value := range response.Data {
		o.Data, _ = value.(object)
	}
	if len(response.Errors) > 0 {
		o.fail(response.Errors[0].Extensions)
	}
	return o
}

// RESTOutcome reads a response of a REST route.
func (c *Client) RESTOutcome(r Response) Outcome {
	c.T.Helper()
	o := Outcome{Status: r.Status, Header: r.Header, Raw: string(r.Body)}
	if r.Status == 200 {
		c.read(r, &o.Data)
		return o
	}

	var problem failure
	c.read(r, &problem)
	o.fail(problem)
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		c.T.Errorf("a problem has type %q", got)
	}
	return o
}

// Endpoints are the two that every operation document of a route can be sent through.
var Endpoints = []string{"REST", "GraphQL"}

// WriteContent replaces the content file.
func (c *Client) WriteContent(content string) {
	c.T.Helper()
	path := filepath.Join(c.DataDir, "content.json")
	must(c.T, renameio.WriteFile(path, []byte(content), 0o600))
}

// Files returns the names of the JSON files in a subfolder of the data folder.
func (c *Client) Files(dir string) (names []string) {
	paths, _ := filepath.Glob(filepath.Join(c.DataDir, dir, "*.json"))
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}
