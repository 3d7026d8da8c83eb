package rest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
)

// stub is the smallest executor that keeps the contract's rules: gqlgen's own over the
// real generated schema, all invalid fields at once, and a token before all else. Its
// resolvers store nothing and note what they were given.
type stub struct {
	*executor.Executor
	input *schema.InputChecker
	docs  sync.Map

	mu      sync.Mutex
	calls   int
	args    []any
	callers []schema.Caller
	answer  func(field string) (any, error) // nil: the usual answer
}

const testToken = "right"

func newStub(tb testing.TB) *stub {
	tb.Helper()
	input, err := schema.NewInputChecker(schema.AST())
	if err != nil {
		tb.Fatal(err)
	}
	s := &stub{input: input}
	s.Executor = executor.New(schema.NewExecutableSchema(schema.Config{
		Resolvers:  s,
		Directives: schema.DirectiveRoot{Auth: s.auth},
	}))
	s.SetQueryCache(pinned{&s.docs})
	s.SetErrorPresenter(present)
	return s
}

// Pin implements Pinner.
func (s *stub) Pin(query string, doc *ast.QueryDocument) { s.docs.Store(query, doc) }

func (s *stub) auth(ctx context.Context, _ any, next graphql.Resolver, _ schema.TokenKind) (any, error) {
	if err := s.allow(ctx); err != nil {
		return nil, err
	}
	return next(ctx)
}

func (s *stub) allow(ctx context.Context) error {
	if schema.CallerFrom(ctx).Bearer != testToken {
		return &schema.Error{Code: schema.CodeUnauthenticated, Message: "A valid token is required."}
	}
	return nil
}

func (s *stub) authorize(ctx context.Context, f *ast.FieldDefinition) error {
	if f.Directives.ForName("auth") == nil {
		return nil
	}
	return s.allow(ctx)
}

// CreateOperationContext reports all invalid input values at once.
func (s *stub) CreateOperationContext(ctx context.Context, p *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	op, errs := s.Executor.CreateOperationContext(ctx, p)
	if op.Operation == nil {
		return op, errs
	}
	fields := s.input.Check(op.Doc, op.Operation, p.Variables)
	if len(fields) == 0 {
		return op, errs
	}
	if err := s.authorize(ctx, op.Operation.SelectionSet[0].(*ast.Field).Definition); err != nil {
		return op, gqlerror.List{gqlerror.Wrap(err)}
	}
	return op, gqlerror.List{gqlerror.Wrap(&schema.Error{
		Code: schema.CodeBadUserInput, Message: "The request has invalid fields.", Fields: fields,
	})}
}

func present(ctx context.Context, err error) *gqlerror.Error {
	shown := graphql.DefaultErrorPresenter(ctx, err)
	var known *schema.Error
	if errors.As(err, &known) {
		ext := map[string]any{schema.ExtensionCode: string(known.Code)}
		if known.Fields != nil {
			ext[schema.ExtensionErrors] = known.Fields
		}
		if known.RetryAfter > 0 {
			ext[schema.ExtensionRetryAfter] = int(known.RetryAfter / time.Second)
		}
		return &gqlerror.Error{Message: known.Message, Path: shown.Path, Extensions: ext}
	}
	return shown
}

type pinned struct{ docs *sync.Map }

func (p pinned) Get(_ context.Context, query string) (*ast.QueryDocument, bool) {
	doc, ok := p.docs.Load(query)
	if !ok {
		return nil, false
	}
	return doc.(*ast.QueryDocument), true
}

// Add panics: no document may be parsed while requests are served.
func (p pinned) Add(context.Context, string, *ast.QueryDocument) {
	panic("a document was parsed and validated during a request")
}

func (s *stub) note(ctx context.Context, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.args = args
	s.callers = append(s.callers, *schema.CallerFrom(ctx))
}

// reply returns what the test wants a field to answer, else the usual.
func reply[T any](s *stub, field string, usual *T) (*T, error) {
	if s.answer == nil {
		return usual, nil
	}
	v, err := s.answer(field)
	if err != nil || v == nil {
		return nil, err
	}
	return v.(*T), nil
}

func (s *stub) Query() schema.QueryResolver       { return s }
func (s *stub) Mutation() schema.MutationResolver { return s }

func (s *stub) ClearCache(ctx context.Context, all *bool, pattern *string) (*schema.ClearCachePayload, error) {
	s.note(ctx, all, pattern)
	return reply(s, "clearCache", &schema.ClearCachePayload{Success: true, Cleared: 3})
}

func (s *stub) InvalidateCache(ctx context.Context, in schema.InvalidateCacheInput) (*schema.InvalidateCachePayload, error) {
	s.note(ctx, in)
	return reply(s, "invalidateCache", &schema.InvalidateCachePayload{Success: true, Invalidated: []string{"content:locale:en"}})
}

func (s *stub) TrackQuote(ctx context.Context, in schema.TrackQuoteInput) (*schema.TrackQuotePayload, error) {
	s.note(ctx, in)
	return reply(s, "trackQuote", &schema.TrackQuotePayload{Success: true, SessionID: in.SessionID})
}

func (s *stub) SubmitQuote(ctx context.Context, in schema.SubmitQuoteInput) (*schema.SubmitQuotePayload, error) {
	s.note(ctx, in)
	return reply(s, "submitQuote", &schema.SubmitQuotePayload{
		Success: true, SubmissionID: "abc", PDFURL: "/api/quote/pdf?id=abc",
	})
}

func (s *stub) ReceiveCmsWebhook(ctx context.Context, payload any) (*schema.InvalidateCachePayload, error) {
	s.note(ctx, payload)
	return reply(s, "receiveCmsWebhook", &schema.InvalidateCachePayload{Success: true, Invalidated: []string{}})
}

func (s *stub) CacheStats(ctx context.Context) (*schema.CacheStatsPayload, error) {
	s.note(ctx)
	return reply(s, "cacheStats", &schema.CacheStatsPayload{
		Success: true, Stats: &schema.CacheStats{Type: "memory", Size: 2, Available: true},
	})
}

func (s *stub) Content(context.Context, string, schema.Locale) ([]*schema.ContentDocument, error) {
	return nil, errors.New("no route asks for content")
}

func (s *stub) SiteSettings(context.Context, string) (*schema.SiteSettings, error) {
	return nil, errors.New("no route asks for the site settings")
}

var testPDF = []byte("%PDF-1.7 not really\x00\xff")

func (s *stub) QuotePDF(ctx context.Context, id string, locale *schema.Locale) (*schema.QuotePDF, error) {
	s.note(ctx, id, locale)
	return reply(s, "quotePdf", &schema.QuotePDF{
		FileName: "quote-abc.pdf", ContentType: "application/pdf", Size: len(testPDF), Etag: `"v1"`,
		Locale: schema.LocaleRo, Content: testPDF,
	})
}

// newAPI returns an API over the service's own documents and the stub it runs on.
func newAPI(tb testing.TB) (*API, *stub) {
	tb.Helper()
	s := newStub(tb)
	a, err := New(s, schema.AST(), Options{Authorize: s.authorize, Version: "1.2.3"})
	if err != nil {
		tb.Fatal(err)
	}
	return a, s
}

// newServer serves an API over real HTTP.
func newServer(tb testing.TB) (*httptest.Server, *stub) {
	tb.Helper()
	a, s := newAPI(tb)
	srv := httptest.NewServer(http.HandlerFunc(a.ServeHTTP))
	tb.Cleanup(srv.Close)
	return srv, s
}
