package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/resolvers/executor"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

// stub is the service's executor over resolvers that store nothing and record their arguments.
type stub struct {
	*executor.Executor

	// The embedded resolvers are nil. They complete the interfaces with the fields that
	// no route uses.
	exec.QueryResolver
	exec.MutationResolver

	mu    sync.Mutex
	calls int
	args  []any
	reply func(field string) (any, error) // nil for the usual values
}

const testToken = "right"

func newStub(tb testing.TB) *stub {
	tb.Helper()
	s := &stub{}
	s.Executor = executor.New(executor.Options{
		Resolvers:   roots{s},
		Secrets:     executor.Secrets{Cache: []string{testToken}, Webhook: []string{testToken}},
		Log:         zerolog.Nop(),
		Now:         time.Now,
		ContentSize: func() int { return 0 },
	})
	return s
}

func (s *stub) note(args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.args = args
}

// ran counts the operations that reached a resolver.
func (s *stub) ran() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// replied returns the value that the test sets for a field, or the usual one.
func replied[T any](s *stub, field string, usual *T) (*T, error) {
	if s.reply == nil {
		return usual, nil
	}

	v, err := s.reply(field)
	if err != nil || v == nil {
		return nil, err
	}
	return v.(*T), nil
}

// roots are the resolvers of the schema. No route asks for a lead.
type roots struct{ stub *stub }

func (r roots) Query() exec.QueryResolver       { return r.stub }
func (r roots) Mutation() exec.MutationResolver { return r.stub }
func (r roots) Lead() exec.LeadResolver         { return nil }

func (r roots) Subscription() exec.SubscriptionResolver { return nil }

func (s *stub) ClearCache(
	ctx context.Context, all *bool, pattern *string,
) (*schema.ClearCachePayload, error) {
	s.note(all, pattern)
	return replied(s, "clearCache", &schema.ClearCachePayload{Success: true, Cleared: 3})
}

func (s *stub) InvalidateCache(
	ctx context.Context, in schema.InvalidateCacheInput,
) (*schema.InvalidateCachePayload, error) {
	s.note(in)
	return replied(s, "invalidateCache", &schema.InvalidateCachePayload{
		Success:     true,
		Invalidated: []string{"content:locale:en"},
	})
}

func (s *stub) TrackQuote(ctx context.Context, in schema.TrackQuoteInput) (*schema.TrackQuotePayload, error) {
	s.note(in)
	return replied(s, "trackQuote", &schema.TrackQuotePayload{Success: true, SessionID: in.SessionID})
}

func (s *stub) SubmitQuote(
	ctx context.Context, in schema.SubmitQuoteInput,
) (*schema.SubmitQuotePayload, error) {
	s.note(in)
	return replied(s, "submitQuote", &schema.SubmitQuotePayload{
		Success:      true,
		SubmissionID: "abc",
		PDFURL:       "/api/quote/pdf?id=abc",
	})
}

func (s *stub) EstimateQuote(
	ctx context.Context,
	selections schema.EstimateSelectionsInput,
	locale *schema.Locale,
) (*schema.QuoteEstimate, error) {
	s.note(selections, locale)
	return replied(s, "estimateQuote", &schema.QuoteEstimate{
		Lines:    []*schema.EstimateLine{{Field: "features"}},
		Unpriced: []string{},
	})
}

func (s *stub) ReceiveCmsWebhook(ctx context.Context, payload any) (*schema.InvalidateCachePayload, error) {
	s.note(payload)
	return replied(s, "receiveCmsWebhook", &schema.InvalidateCachePayload{
		Success:     true,
		Invalidated: []string{},
	})
}

func (s *stub) CacheStats(ctx context.Context) (*schema.CacheStatsPayload, error) {
	s.note()
	return replied(s, "cacheStats", &schema.CacheStatsPayload{
		Success: true,
		Stats:   &schema.CacheStats{Type: "memory", Size: 2, Available: true},
	})
}

func (s *stub) Content(context.Context, string, schema.Locale, *string, *string) ([]*schema.ContentDocument, error) {
	return []*schema.ContentDocument{{
		ID:     "heroSection-en",
		Type:   "heroSection",
		Fields: json.RawMessage(`{"title":"Web sites"}`),
	}}, nil
}

func (s *stub) SiteSettings(context.Context, string) (*schema.SiteSettings, error) {
	return nil, errors.New("no route asks for the site settings")
}

var testPDF = []byte("%PDF-1.7 not really\x00\xff")

func (s *stub) QuotePDF(ctx context.Context, id string, locale *schema.Locale) (*schema.QuotePDF, error) {
	s.note(id, locale)
	file, err := replied(s, "quotePdf", &schema.QuotePDF{
		FileName:    "quote-abc.pdf",
		ContentType: "application/pdf",
		Size:        len(testPDF),
		Etag:        `"v1"`,
		Locale:      schema.LocaleRo,
		Content:     testPDF,
	})

	if file != nil && file.Content != nil {
		schema.AttachFile(ctx, &schema.File{Content: file.Content})
	}
	return file, err
}

// newAPI returns an API over the service's own documents and the stub it runs on.
func newAPI(tb testing.TB) (*API, *stub) {
	tb.Helper()
	s := newStub(tb)
	list, err := operations.All()
	if err != nil {
		tb.Fatal(err)
	}
	a, err := New(list, s, "1.2.3")
	if err != nil {
		tb.Fatal(err)
	}
	return a, s
}

// withCaller adds a caller to a request, as the server's middleware does.
func withCaller(r *http.Request) *http.Request {
	return r.WithContext(schema.WithCaller(r.Context(), schema.Caller{RequestID: "r1", Header: r.Header}))
}

// newServer serves an API over real HTTP.
func newServer(tb testing.TB) (*httptest.Server, *stub) {
	tb.Helper()
	a, s := newAPI(tb)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.ServeHTTP(w, withCaller(r))
	}))
	tb.Cleanup(srv.Close)
	return srv, s
}

// answer is a response that came over HTTP.
type answer struct {
	status int
	header http.Header
	body   string
}

// problem reads a problem document and checks the members that all of them share.
func (a answer) problem(tb testing.TB) Problem {
	tb.Helper()
	var p Problem
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		tb.Fatalf("status %d: the body is no problem document: %q", a.status, a.body)
	}

	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		tb.Errorf("Content-Type %q", got)
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		tb.Errorf("Cache-Control %q", got)
	}

	if p.Status != a.status || p.Type != "about:blank" ||
		p.Title != http.StatusText(a.status) || p.Success ||
		p.RequestID == "" || p.Detail == "" || p.Code.Status() != a.status {
		tb.Errorf("status %d, problem %+v", a.status, p)
	}

	return p
}

// send makes one request. Headers are given as name, value, name, value …
func send(tb testing.TB, srv *httptest.Server, method, path, body string, headers ...string) answer {
	tb.Helper()
	req, err := http.NewRequest(method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}

	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}

	return do(tb, srv, req)
}

func do(tb testing.TB, srv *httptest.Server, req *http.Request) answer {
	tb.Helper()
	res, err := srv.Client().Do(req)
	if err != nil {
		tb.Fatal(err)
	}

	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}

	return answer{res.StatusCode, res.Header, string(body)}
}
