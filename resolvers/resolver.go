// Package resolvers holds all behaviour of the service. The generated
// *.resolvers.go files are thin: they call the plain functions and small methods of
// the files beside them, which speak to the outside through the contracts in
// integrations. Both endpoints, GraphQL and REST, run what is here through [Executor].
package resolvers

import (
	"context"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
	"siteapi/integrations/turnstile"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// Renderer draws the summary of a quote. The same document gives the same bytes.
type Renderer interface {
	Render(ctx context.Context, d pdf.Document) ([]byte, error)
}

// LogoLoader fetches a logo, ready to be drawn.
type LogoLoader interface {
	Load(ctx context.Context, url string) ([]byte, error)
}

// Deps is everything the resolvers need from outside. All fields are required except
// where they say otherwise.
type Deps struct {
	CMS    cms.Content
	Cache  cache.Cache
	Quotes store.Quotes
	PDF    Renderer
	Logo   LogoLoader // nil: documents have no logo
	Log    zerolog.Logger
	Now    func() time.Time
	NewID  func() string // opaque, at least 122 random bits

	CacheTokens    []string // accepted by @auth(token: CACHE); empty: none is
	WebhookSecrets []string // accepted by @auth(token: WEBHOOK); empty: none is
	AdminTokens    []string // accepted by @auth(token: ADMIN); empty: none is
	SigningSecrets []string // empty: webhooks need no signature

	Operators *leads.Service
	Examine   func(ctx context.Context) []*schema.HealthCheck // what serviceHealth says
	Version   string                                          // of the program

	ContentTypes []string       // document types that `content` serves
	ContentLife  cache.Lifetime // of a locale's content
	FallbackDir  string         // keeps fallback copies of content beyond the process; empty: none are kept

	MinTime   time.Duration                    // from a session's first tracked state to its submission; 0: any
	Challenge *turnstile.Verifier              // nil: submissions need no token of a bot check
	Trace     func(ctx context.Context) string // traceparent of a context, empty: none; nil: nothing is traced

	Development bool // report the names of the hints that track drops

	CompanyName string            // printed where the site settings name none
	Accent      string            // accent colour of documents, "#rrggbb"; empty: the default
	Count       func(event Event) // nil: nothing is counted
}

// Event is something worth counting.
type Event struct {
	Name   string // "content_fill", "content_fallback", "webhook", …
	Detail string // locale, outcome; few different values
}

// Resolver is the root of all resolvers.
type Resolver struct {
	Deps
	content    *contentService
	formats    *schema.Formats
	deliveries *otter.Cache[string, []string] // of webhooks; see newDeliveries
	work       background
}

// New returns the resolvers over their dependencies.
func New(d Deps) *Resolver {
	if d.Count == nil {
		d.Count = func(Event) {}
	}
	r := &Resolver{Deps: d, formats: schema.NewFormats(), deliveries: newDeliveries()}
	r.content = newContentService(&r.Deps)
	return r
}

// Close waits for work begun in the background until ctx ends.
func (r *Resolver) Close(ctx context.Context) error { return r.work.wait(ctx) }

// background runs work that outlives the request that caused it.
type background struct {
	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
	stop   chan struct{}
}

// start runs f unless the service is closing. The channel closes when it does.
func (b *background) start(f func(stopping <-chan struct{})) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if b.stop == nil {
		b.stop = make(chan struct{})
	}
	b.group.Add(1)
	stop := b.stop
	go func() {
		defer b.group.Done()
		f(stop)
	}()
}

func (b *background) wait(ctx context.Context) error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		if b.stop != nil {
			close(b.stop)
		}
	}
	b.mu.Unlock()
	done := make(chan struct{})
	go func() { b.group.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
