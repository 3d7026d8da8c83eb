package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
)

// service is the whole product under test: the real app on a real listener, with its
// database and drivers in a folder of its own.
type service struct {
	t       *testing.T
	app     *app
	base    string
	dataDir string
	env     map[string]string
	log     *syncBuffer
	changes []func(*deliveries)
	halt    func()
}

// startService starts a service in development with the given settings on top.
func startService(t *testing.T, env map[string]string, changes ...func(*deliveries)) *service {
	t.Helper()
	s := &service{
		t:       t,
		dataDir: t.TempDir(),
		log:     &syncBuffer{},
		changes: changes,
		env: map[string]string{
			"ENVIRONMENT": "development",
			"LOG_FORMAT":  "json",
			"RATE_LIMITS": "off",
			"ADMIN_ADDR":  "off",
		},
	}

	s.env["DATA_DIR"] = s.dataDir
	maps.Copy(s.env, env)
	s.start()
	return s
}

// start starts the service, again after stop.
func (s *service) start() {
	s.t.Helper()
	settings, err := config.Read(func(name string) string { return s.env[name] })
	if err != nil {
		s.t.Fatal(err)
	}

	a, err := newApp(s.t.Context(), settings, zerolog.New(s.log).Level(settings.LogLevel), s.changes...)
	if err != nil {
		s.t.Fatal(err)
	}

	listener, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := a.start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.serve(ctx, listener) }()

	s.app, s.base = a, "http://"+listener.Addr().String()
	s.halt = func() {
		cancel()
		if err := <-done; err != nil && !strings.Contains(err.Error(), http.ErrServerClosed.Error()) {
			s.t.Errorf("stopping: %v", err)
		}
	}
	s.t.Cleanup(s.stop)
}

// stop stops the service as a signal would.
func (s *service) stop() {
	if s.halt != nil {
		s.halt()
		s.halt = nil
	}
}

// writeContent replaces the content file.
func (s *service) writeContent(content string) {
	s.t.Helper()
	path := filepath.Join(s.dataDir, "content.json")
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}

// response is an answer, read to the end.
type response struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request. Headers are given as "Name: value".
func (s *service) do(method, path, body string, headers ...string) response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}

	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()

	var answer io.Reader = resp.Body
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		answer = io.LimitReader(answer, 1) // it goes on until it is left
	}
	data, err := io.ReadAll(answer)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, data}
}

// query runs a GraphQL operation and returns the whole answer.
func (s *service) query(document string, variables map[string]any, headers ...string) response {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(http.MethodPost, "/graphql", string(body), headers...)
}

// operation is an operation that both endpoints have.
type operation struct {
	method, path string
	fromQuery    bool   // variables stand in the query string, else `body` holds them
	body         string // the variable that is the body; empty: its fields are the variables
	root         string
	document     string
}

var operations = map[string]operation{
	"cacheStats": {
		method:    http.MethodGet,
		path:      "/api/cache/clear",
		fromQuery: true,
		root:      "cacheStats",
		document:  `query { cacheStats { success stats { type size available } } }`,
	},
	"clearCache": {
		method:    http.MethodPost,
		path:      "/api/cache/clear",
		fromQuery: true,
		root:      "clearCache",
		document: `mutation($all: Boolean, $pattern: String) ` +
			`{ clearCache(all: $all, pattern: $pattern) { success cleared } }`,
	},
	"invalidateCache": {
		method: http.MethodPost,
		path:   "/api/cache/invalidate",
		body:   "input",
		root:   "invalidateCache",
		document: `mutation($input: InvalidateCacheInput!) ` +
			`{ invalidateCache(input: $input) { success invalidated } }`,
	},
	"receiveCmsWebhook": {
		method: http.MethodPost,
		path:   "/api/webhooks/cms",
		body:   "payload",
		root:   "receiveCmsWebhook",
		document: `mutation($payload: JSON!) ` +
			`{ receiveCmsWebhook(payload: $payload) { success invalidated } }`,
	},
	"trackQuote": {
		method:   http.MethodPost,
		path:     "/api/quote/track",
		body:     "input",
		root:     "trackQuote",
		document: `mutation($input: TrackQuoteInput!) { trackQuote(input: $input) { success sessionId } }`,
	},
	"estimateQuote": {
		method: http.MethodPost,
		path:   "/api/quote/estimate",
		root:   "estimateQuote",
		document: `query($selections: EstimateSelectionsInput!, $locale: Locale) {
			estimateQuote(selections: $selections, locale: $locale) {
				min max currency lines { field slug label amount } unpriced validUntil revision
			}
		}`,
	},
	"submitQuote": {
		method: http.MethodPost,
		path:   "/api/quote/submit",
		body:   "input",
		root:   "submitQuote",
		document: `mutation($input: SubmitQuoteInput!) ` +
			`{ submitQuote(input: $input) { success submissionId pdfUrl } }`,
	},
}

// outcome is the result of an operation, in one form for both endpoints.
type outcome struct {
	status    int            // status of the REST answer, 0 through GraphQL
	data      map[string]any // nil if there was an error
	code      string
	fields    map[string]string // message by field
	requestID string
	header    http.Header
	raw       string
}

// through runs an operation through one endpoint.
func (s *service) through(endpoint, name string, vars map[string]any, headers ...string) outcome {
	s.t.Helper()
	op := operations[name]
	if endpoint == "GraphQL" {
		return s.graphQLOutcome(op, s.query(op.document, vars, headers...))
	}

	path, body := op.path, ""
	if op.fromQuery {
		values := url.Values{}
		for k, v := range vars {
			values.Set(k, fmt.Sprint(v))
		}
		if len(values) > 0 {
			path += "?" + values.Encode()
		}
	} else {
		var sent any = vars
		if op.body != "" {
			sent = vars[op.body]
		}
		data, err := json.Marshal(sent)
		if err != nil {
			s.t.Fatal(err)
		}
		body = string(data)
	}

	return s.restOutcome(s.do(op.method, path, body, headers...))
}

func (s *service) graphQLOutcome(op operation, r response) outcome {
	s.t.Helper()
	var answer struct {
		Data   map[string]map[string]any
		Errors []struct {
			Message    string
			Extensions struct {
				Code      string
				RequestID string `json:"requestId"`
				Errors    []struct{ Field, Message string }
			}
		}
	}
	if err := json.Unmarshal(r.body, &answer); err != nil {
		s.t.Fatalf("not JSON: %s", r.body)
	}

	o := outcome{header: r.header, raw: string(r.body), data: answer.Data[op.root]}
	if len(answer.Errors) > 0 {
		e := answer.Errors[0].Extensions
		o.code, o.requestID, o.data = e.Code, e.RequestID, nil
		o.fields = map[string]string{}
		for _, f := range e.Errors {
			o.fields[f.Field] = f.Message
		}
	}
	return o
}

func (s *service) restOutcome(r response) outcome {
	s.t.Helper()
	o := outcome{status: r.status, header: r.header, raw: string(r.body)}
	if r.status == http.StatusOK {
		if err := json.Unmarshal(r.body, &o.data); err != nil {
			s.t.Fatalf("not JSON: %s", r.body)
		}
		return o
	}

	var problem struct {
		Type, Title, Detail, Code, RequestID string
		Status                               int
		Success                              *bool
		Errors                               []struct{ Field, Message string }
	}
	if err := json.Unmarshal(r.body, &problem); err != nil {
		s.t.Fatalf("not JSON: %s", r.body)
	}

	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		s.t.Errorf("a problem has type %q", got)
	}

	if problem.Type != "about:blank" || problem.Title != http.StatusText(r.status) ||
		problem.Status != r.status || problem.Detail == "" ||
		problem.Success == nil || *problem.Success || problem.RequestID == "" {
		s.t.Errorf("not the documented problem: %s", r.body)
	}

	o.code, o.requestID = problem.Code, problem.RequestID
	o.fields = map[string]string{}
	for _, f := range problem.Errors {
		o.fields[f.Field] = f.Message
	}
	return o
}

// bothEndpoints runs one case through REST and through GraphQL.
func bothEndpoints(t *testing.T, f func(t *testing.T, endpoint string)) {
	t.Helper()
	for _, endpoint := range []string{"REST", "GraphQL"} {
		t.Run(endpoint, func(t *testing.T) { f(t, endpoint) })
	}
}

// fieldNames returns the invalid fields of an outcome, sorted.
func (o outcome) fieldNames() []string {
	return slices.Sorted(maps.Keys(o.fields))
}

// eventually waits for something that happens in the background.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(
		5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s: it did not happen within three minutes", what)
}

// files returns the names in a folder of the service's data.
func (s *service) files(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(s.dataDir, dir))
	if err != nil {
		return nil
	}

	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			names = append(names, e.Name())
		}
	}
	return names
}

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends to the log.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the log so far.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
