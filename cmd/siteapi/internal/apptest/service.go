package apptest

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

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store"
)

// readiness is the answer of /readyz.
type readiness struct {
	Status       string
	Dependencies map[string]struct {
		Status   string
		Required bool
		AskedAt  time.Time `json:"askedAt"`
	}
}

func (s *Service) Readiness() (int, readiness) {
	s.T.Helper()
	got := s.Do("GET", "/readyz", "")
	var r readiness
	if err := json.Unmarshal(got.Body, &r); err != nil {
		s.T.Fatalf("%s: %v", got.Body, err)
	}
	return got.Status, r
}

// Counter returns the sum of the counters, gauges or counts of histograms with some
// labels. It waits until there is one: a scrape lacks the metrics of a database that is
// busy.
func Counter(t *testing.T, s *Service, name string, labels map[string]string) (value float64) {
	t.Helper()
	Eventually(t, name+" is scraped", func() bool {
		value = scraped(t, s, name, labels)
		return value >= 0
	})
	return value
}

// scraped returns the current sum, -1 if there is no such metric.
func scraped(t *testing.T, s *Service, name string, labels map[string]string) float64 {
	t.Helper()
	sum := -1.0
	families, err := s.App.Metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			same := 0
			for _, l := range m.GetLabel() {
				if labels[l.GetName()] == l.GetValue() {
					same++
				}
			}

			if same == len(labels) {
				sum = max(sum, 0) + m.GetCounter().GetValue() + m.GetGauge().GetValue() +
					float64(m.GetHistogram().GetSampleCount())
			}
		}
	}

	return sum
}

// Service is the whole product under test: the real app on a real listener, with its
// database and drivers in a folder of its own.
type Service struct {
	T       *testing.T
	App     *app.App
	Base    string
	DataDir string
	Env     map[string]string
	Log     *SyncBuffer
	halt    func()
}

// Start starts a service in development with the given settings on top.
func Start(t *testing.T, env map[string]string, changes ...func(*Service)) *Service {
	t.Helper()
	s := &Service{
		T:       t,
		DataDir: t.TempDir(),
		Log:     &SyncBuffer{},
		Env: map[string]string{
			"ENVIRONMENT": "development",
			"LOG_FORMAT":  "json",
			"RATE_LIMITS": "off",
			"ADMIN_ADDR":  "off",
		},
	}

	s.Env["DATA_DIR"] = s.DataDir
	maps.Copy(s.Env, env)
	for _, change := range changes {
		change(s)
	}
	s.Start()
	return s
}

// Start starts the service, again after stop.
func (s *Service) Start() {
	s.T.Helper()
	settings, err := config.Read(func(name string) string { return s.Env[name] })
	if err != nil {
		s.T.Fatal(err)
	}

	a, err := app.New(s.T.Context(), settings, zerolog.New(s.Log).Level(settings.LogLevel))
	if err != nil {
		s.T.Fatal(err)
	}

	listener, err := (&net.ListenConfig{}).Listen(s.T.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.T.Fatal(err)
	}
	if err := a.Start(s.T.Context()); err != nil {
		s.T.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx, listener) }()

	s.App, s.Base = a, "http://"+listener.Addr().String()
	s.halt = func() {
		cancel()
		if err := <-done; err != nil && !strings.Contains(err.Error(), http.ErrServerClosed.Error()) {
			s.T.Errorf("stopping: %v", err)
		}
	}
	s.T.Cleanup(s.Stop)
}

// Stop stops the service as a signal would.
func (s *Service) Stop() {
	if s.halt != nil {
		s.halt()
		s.halt = nil
	}
}

// WriteContent replaces the content file.
func (s *Service) WriteContent(content string) {
	s.T.Helper()
	path := filepath.Join(s.DataDir, "content.json")
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		s.T.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.T.Fatal(err)
	}
}

// Response is an answer, read to the end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request. Headers are given as "Name: value".
func (s *Service) Do(method, path, body string, headers ...string) Response {
	s.T.Helper()
	req, err := http.NewRequestWithContext(s.T.Context(), method, s.Base+path, strings.NewReader(body))
	if err != nil {
		s.T.Fatal(err)
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
		s.T.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()

	var answer io.Reader = resp.Body
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		answer = io.LimitReader(answer, 1) // it goes on until it is left
	}
	data, err := io.ReadAll(answer)
	if err != nil {
		s.T.Fatal(err)
	}
	return Response{resp.StatusCode, resp.Header, data}
}

// Query runs a GraphQL operation and returns the whole answer.
func (s *Service) Query(document string, variables map[string]any, headers ...string) Response {
	s.T.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		s.T.Fatal(err)
	}
	return s.Do(http.MethodPost, "/graphql", string(body), headers...)
}

// Operation is an operation that both endpoints have.
type Operation struct {
	method, path string
	fromQuery    bool   // variables stand in the query string, else `body` holds them
	body         string // the variable that is the body; empty: its fields are the variables
	Root         string
	document     string
}

var operations = map[string]Operation{
	"cacheStats": {
		method:    http.MethodGet,
		path:      "/api/cache/clear",
		fromQuery: true,
		Root:      "cacheStats",
		document:  `query { cacheStats { success stats { type size available } } }`,
	},
	"clearCache": {
		method:    http.MethodPost,
		path:      "/api/cache/clear",
		fromQuery: true,
		Root:      "clearCache",
		document: `mutation($all: Boolean, $pattern: String) ` +
			`{ clearCache(all: $all, pattern: $pattern) { success cleared } }`,
	},
	"invalidateCache": {
		method: http.MethodPost,
		path:   "/api/cache/invalidate",
		body:   "input",
		Root:   "invalidateCache",
		document: `mutation($input: InvalidateCacheInput!) ` +
			`{ invalidateCache(input: $input) { success invalidated } }`,
	},
	"receiveCmsWebhook": {
		method: http.MethodPost,
		path:   "/api/webhooks/cms",
		body:   "payload",
		Root:   "receiveCmsWebhook",
		document: `mutation($payload: JSON!) ` +
			`{ receiveCmsWebhook(payload: $payload) { success invalidated } }`,
	},
	"trackQuote": {
		method:   http.MethodPost,
		path:     "/api/quote/track",
		body:     "input",
		Root:     "trackQuote",
		document: `mutation($input: TrackQuoteInput!) { trackQuote(input: $input) { success sessionId } }`,
	},
	"estimateQuote": {
		method: http.MethodPost,
		path:   "/api/quote/estimate",
		Root:   "estimateQuote",
		document: `query($selections: EstimateSelectionsInput!, $locale: Locale) {
			estimateQuote(selections: $selections, locale: $locale) {
				min max currency lines { field slug label amount } unpriced validUntil revision preview
			}
		}`,
	},
	"submitQuote": {
		method: http.MethodPost,
		path:   "/api/quote/submit",
		body:   "input",
		Root:   "submitQuote",
		document: `mutation($input: SubmitQuoteInput!) ` +
			`{ submitQuote(input: $input) { success submissionId pdfUrl } }`,
	},
}

// Outcome is the result of an operation, in one form for both endpoints.
type Outcome struct {
	Status    int            // status of the REST answer, 0 through GraphQL
	Data      map[string]any // nil if there was an error
	Code      string
	Fields    map[string]string // message by field
	RequestID string
	Header    http.Header
	Raw       string
}

// Through runs an operation through one endpoint.
func (s *Service) Through(endpoint, name string, vars map[string]any, headers ...string) Outcome {
	s.T.Helper()
	op := operations[name]
	if endpoint == "GraphQL" {
		return s.GraphQLOutcome(op, s.Query(op.document, vars, headers...))
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
			s.T.Fatal(err)
		}
		body = string(data)
	}

	return s.RESTOutcome(s.Do(op.method, path, body, headers...))
}

// GraphQLOutcome reads an answer to GraphQL.
func (s *Service) GraphQLOutcome(op Operation, r Response) Outcome {
	s.T.Helper()
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
	if err := json.Unmarshal(r.Body, &answer); err != nil {
		s.T.Fatalf("not JSON: %s", r.Body)
	}

	o := Outcome{Header: r.Header, Raw: string(r.Body), Data: answer.Data[op.Root]}
	if len(answer.Errors) > 0 {
		e := answer.Errors[0].Extensions
		o.Code, o.RequestID, o.Data = e.Code, e.RequestID, nil
		o.Fields = map[string]string{}
		for _, f := range e.Errors {
			o.Fields[f.Field] = f.Message
		}
	}
	return o
}

// RESTOutcome reads an answer of a route.
func (s *Service) RESTOutcome(r Response) Outcome {
	s.T.Helper()
	o := Outcome{Status: r.Status, Header: r.Header, Raw: string(r.Body)}
	if r.Status == http.StatusOK {
		if err := json.Unmarshal(r.Body, &o.Data); err != nil {
			s.T.Fatalf("not JSON: %s", r.Body)
		}
		return o
	}

	var problem struct {
		Type, Title, Detail, Code, RequestID string
		Status                               int
		Success                              *bool
		Errors                               []struct{ Field, Message string }
	}
	if err := json.Unmarshal(r.Body, &problem); err != nil {
		s.T.Fatalf("not JSON: %s", r.Body)
	}

	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		s.T.Errorf("a problem has type %q", got)
	}

	if problem.Type != "about:blank" || problem.Title != http.StatusText(r.Status) ||
		problem.Status != r.Status || problem.Detail == "" ||
		problem.Success == nil || *problem.Success || problem.RequestID == "" {
		s.T.Errorf("not the documented problem: %s", r.Body)
	}

	o.Code, o.RequestID = problem.Code, problem.RequestID
	o.Fields = map[string]string{}
	for _, f := range problem.Errors {
		o.Fields[f.Field] = f.Message
	}
	return o
}

// BothEndpoints runs one case through REST and through GraphQL.
func BothEndpoints(t *testing.T, f func(t *testing.T, endpoint string)) {
	t.Helper()
	for _, endpoint := range []string{"REST", "GraphQL"} {
		t.Run(endpoint, func(t *testing.T) { f(t, endpoint) })
	}
}

// FieldNames returns the invalid fields of an outcome, sorted.
func (o Outcome) FieldNames() []string {
	return slices.Sorted(maps.Keys(o.Fields))
}

// Eventually waits for something that happens in the background.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(
		5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s: it did not happen within three minutes", what)
}

// StoredLeads returns the number of leads in the database.
func (s *Service) StoredLeads() int {
	s.T.Helper()
	counts, err := s.App.Data.Tables.CountWork(s.T.Context(), store.Filter{})
	if err != nil {
		s.T.Error(err)
	}
	return store.NumberOf(counts)
}

// Files returns the names in a folder of the service's data.
func (s *Service) Files(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(s.DataDir, dir))
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

// SyncBuffer is a log that can be read while it is written.
type SyncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends to the log.
func (b *SyncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the log so far.
func (b *SyncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
