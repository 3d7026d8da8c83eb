package graphqlhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"siteapi/resolvers/executor"
	"siteapi/resolvers/graphqlhttp"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/request"
)

// site is the service behind the endpoint: the real schema over content in memory.
type site struct {
	mu       sync.Mutex
	settings *schema.SiteSettings
	revision atomic.Int64
	runs     atomic.Int64                    // number of root fields that were executed
	during   func(ctx context.Context) error // called during each read
	fails    error                           // the error of every read, if set
}

func newSite() *site {
	s := &site{}
	s.set("+1 555 0100")
	return s
}

// set changes the content.
func (s *site) set(phone string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = &schema.SiteSettings{ContactPhone: &phone}
	s.revision.Add(1)
}

func (s *site) rev(locale string) (string, bool) {
	switch locale {
	case "en", "es", "ro":
		return strconv.FormatInt(s.revision.Load(), 10), true
	}
	return "", false
}

func (s *site) Query() exec.QueryResolver       { return queries{site: s} }
func (s *site) Mutation() exec.MutationResolver { return mutations{site: s} }

type (
	queries struct {
		*site
		exec.QueryResolver
	}
	mutations struct {
		*site
		exec.MutationResolver
	}
)

func (q queries) SiteSettings(ctx context.Context, id string, _ *schema.Locale) (*schema.SiteSettings, error) {
	q.runs.Add(1)
	if q.fails != nil {
		return nil, q.fails
	}

	q.mu.Lock()
	found := q.settings
	q.mu.Unlock()

	if q.during != nil {
		if err := q.during(ctx); err != nil {
			return nil, err
		}
	}

	if id != "siteSettings" {
		return nil, nil //nolint:nilnil // the contract's null
	}
	return found, nil
}

func (q queries) Content(
	_ context.Context, documentType string, locale schema.Locale, _, _ *string, _ int, _ []string, _, _ *int,
) ([]*schema.ContentDocument, error) {
	q.runs.Add(1)
	return []*schema.ContentDocument{{
		ID:     "hero." + string(locale),
		Type:   documentType,
		Locale: &locale,
		Fields: json.RawMessage(fmt.Sprintf(`{"title":"%s (%d)"}`, locale, q.revision.Load())),
	}}, nil
}

func (q queries) CacheStats(context.Context) (*schema.CacheStatsPayload, error) {
	q.runs.Add(1)
	return &schema.CacheStatsPayload{
		Success: true,
		Stats:   &schema.CacheStats{Type: "memory", Available: true},
	}, nil
}

func (q queries) QuotePDF(context.Context, string, *schema.Locale) (*schema.QuotePDF, error) {
	q.runs.Add(1)
	return nil, &schema.Error{Code: schema.CodeNotFound, Message: "There is no such quote."}
}

func (m mutations) TrackQuote(
	_ context.Context, in schema.TrackQuoteInput,
) (*schema.TrackQuotePayload, error) {
	m.runs.Add(1)
	return &schema.TrackQuotePayload{Success: true, SessionID: in.SessionID}, nil
}

// roots adds the resolvers that no test here uses.
type roots struct{ *site }

func (roots) Lead() exec.LeadResolver { return nil }

func (roots) SiteSettings() exec.SiteSettingsResolver { return nil }

func (roots) ContactPhoneNumber() exec.ContactPhoneNumberResolver { return nil }

func (roots) Subscription() exec.SubscriptionResolver { return nil }

// endpoint is a running server.
type endpoint struct {
	*site
	url     string
	records chan recorded // the records of the requests, in order
}

// setup adjusts the endpoint of a test.
type setup struct {
	documents graphqlhttp.DocumentOptions
	options   graphqlhttp.Options
	site      *site
}

// recorded is the endpoint's record of a request.
type recorded struct {
	request.Operation
	Code schema.Code
}

// recorder stores the endpoint's record of a request.
type recorder struct{ recorded }

func (r *recorder) Operation(op request.Operation)                  { r.recorded.Operation = op }
func (r *recorder) Refused(code schema.Code, _ []schema.FieldError) { r.Code = code }
func (r *recorder) Dropped([]string)                                {}
func (r *recorder) Previewed(string)                                {}

// handler returns the endpoint behind a middleware that adds the caller and the recorder.
func (s *setup) handler(t testing.TB, records chan recorded) http.Handler {
	t.Helper()
	docs, err := graphqlhttp.NewDocuments(s.documents)
	must(t, err)

	s.options.Documents = docs
	s.options.Executor = executor.New(executor.Options{
		Resolvers:   roots{s.site},
		Secrets:     executor.Secrets{Cache: []string{"secret"}},
		Log:         zerolog.Nop(),
		ContentSize: func() int { return 0 },
		Documents:   docs,
	})
	handler := graphqlhttp.New(s.options)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := &recorder{}
		defer func() {
			if records != nil {
				records <- record.recorded
			}
		}()
		ctx := request.WithCaller(r.Context(), request.Caller{RequestID: "req-1", Header: r.Header})
		handler.ServeHTTP(w, r.WithContext(request.WithRecorder(ctx, record)))
	})
}

func newSetup(adjust func(*setup)) *setup {
	s := &setup{site: newSite(), documents: graphqlhttp.DocumentOptions{}}
	s.options.Revision = s.site.rev
	s.options.Load = func(context.Context, string) {}
	if adjust != nil {
		adjust(s)
	}
	return s
}

func newEndpoint(t testing.TB, adjust func(*setup)) *endpoint {
	t.Helper()
	s, records := newSetup(adjust), make(chan recorded, 10_000)
	server := httptest.NewServer(s.handler(t, records))
	t.Cleanup(server.Close)
	return &endpoint{site: s.site, url: server.URL, records: records}
}

// reply is a response with its whole body.
type reply struct {
	status int
	header http.Header
	body   string
}

func (d *endpoint) do(t testing.TB, method, query string, header http.Header, body io.Reader) reply {
	t.Helper()
	target := d.url
	if query != "" {
		target += "?" + query
	}

	req, err := http.NewRequestWithContext(t.Context(), method, target, body)
	must(t, err)
	for name, values := range header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}

	res, err := http.DefaultTransport.RoundTrip(req)
	must(t, err)
	defer res.Body.Close()

	data, err := io.ReadAll(res.Body)
	must(t, err)
	return reply{res.StatusCode, res.Header, string(data)}
}

// post sends a JSON body; accept may be empty.
func (d *endpoint) post(t testing.TB, accept, body string) reply {
	t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	if accept != "" {
		header.Set("Accept", accept)
	}
	return d.do(t, "POST", "", header, strings.NewReader(body))
}

// ask posts a document.
func (d *endpoint) ask(t testing.TB, accept, query string) reply {
	t.Helper()
	return d.post(t, accept, asQuery(t, query))
}

func asQuery(t testing.TB, document string) string {
	t.Helper()
	return asBody(t, map[string]any{"query": document})
}

func asBody(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	must(t, enc.Encode(v))
	return strings.TrimSpace(b.String())
}

// firstError returns the first error's message and code.
func (r reply) firstError(t testing.TB) (message, code string) {
	t.Helper()
	var shape struct {
		Errors []struct {
			Message    string
			Extensions struct{ Code, RequestID string }
		}
	}

	if err := json.Unmarshal([]byte(r.body), &shape); err != nil {
		t.Fatalf("response %q: %v", r.body, err)
	}

	if len(shape.Errors) == 0 {
		return "", ""
	}
	if shape.Errors[0].Extensions.RequestID != "req-1" {
		t.Errorf("response %q has no request id", r.body)
	}
	return shape.Errors[0].Message, shape.Errors[0].Extensions.Code
}

const (
	typeJSON    = "application/json"
	typeGraphQL = "application/graphql-response+json"
)
