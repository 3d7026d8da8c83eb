package quotepdf

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// oneQuote is a store with one lead until it is erased.
type oneQuote struct {
	LeadStore
	reads  atomic.Int64
	erased atomic.Bool
}

func (q *oneQuote) Lead(_ context.Context, id string) (lead.Lead, error) {
	q.reads.Add(1)
	if id != "one" || q.erased.Load() {
		return lead.Lead{}, store.ErrNotFound
	}
	return lead.Lead{ID: id}, nil
}

// labels is a CMS with one option, whose label an editor may change.
type labels struct{ renamed atomic.Bool }

func (c *labels) Fetch(context.Context, cms.Query) ([]cms.Document, error) {
	fields := `{"slug":"web-app","label":"Web app"}`
	if c.renamed.Load() {
		fields = `{"slug":"web-app","label":"Application"}`
	}
	return []cms.Document{{ID: "option", Type: cms.OptionType, Fields: []byte(fields)}}, nil
}

func (*labels) Ping(context.Context) error { return nil }

// blank renders empty pages.
type blank struct {
	drawn atomic.Int64
	draw  func()
}

func (b *blank) Render(_ context.Context, d pdf.Document) ([]byte, error) {
	b.drawn.Add(1)
	if b.draw != nil {
		b.draw()
	}
	return []byte("%PDF " + d.Locale), nil
}

// TestPdf counts how often a document is rendered and its lead is read.
func TestPdf(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name   string
		change func(t *testing.T, r *Resolver)
		drawn  int64 // number of renderings after the change and a second request
	}{
		{"nothing happened", func(*testing.T, *Resolver) {}, 1},
		{"its documents were cleared", func(t *testing.T, r *Resolver) {
			clearAll(t, r, "quote:pdf:one:*")
		}, 2},
		{"another lead's were cleared", func(t *testing.T, r *Resolver) {
			clearAll(t, r, "quote:pdf:two:*")
		}, 1},
		{"the content changed", func(t *testing.T, r *Resolver) {
			r.Content.CMS.(*labels).renamed.Store(true)
			clearAll(t, r, "content:*")
		}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, quotes, page := newPdfResolver(t, nil)

			for i := range 2 {
				got, err := r.QuotePDF(t.Context(), "one", nil)
				if err != nil || string(got.Content) != "%PDF en" || got.FileName != "quote-one.pdf" {
					t.Fatalf("got %+v, %v", got, err)
				}
				if i == 0 {
					tt.change(t, r)
				}
			}

			if page.drawn.Load() != tt.drawn || tt.drawn == 1 && quotes.reads.Load() != 2 {
				t.Errorf("rendered %d times, want %d; the lead was read %d times",
					page.drawn.Load(), tt.drawn, quotes.reads.Load())
			}
		})
	}
}

// TestPdfOfAnErasedLead clears the documents while one is being rendered.
func TestPdfOfAnErasedLead(t *testing.T) {
	t.Parallel()
	r, quotes, page := newPdfResolver(t, nil)
	page.draw = func() {
		quotes.erased.Store(true)
		clearAll(t, r, "quote:pdf:one:*")
	}

	if _, err := r.QuotePDF(t.Context(), "one", nil); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{"one", "two", strings.Repeat("x", 100)} {
		_, err := r.QuotePDF(t.Context(), id, nil)
		if coded, ok := errors.AsType[*schema.Error](err); !ok || coded.Code != schema.CodeNotFound {
			t.Errorf("%s: %v, want NOT_FOUND", id, err)
		}
	}
}

// scriptedLogo loads its logo once it is released.
type scriptedLogo struct {
	err      error
	released chan struct{}
	loads    atomic.Int64
}

func (l *scriptedLogo) Load(ctx context.Context, _ string) ([]byte, error) {
	l.loads.Add(1)
	select {
	case <-l.released:
		return []byte("logo"), l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newScriptedLogo(err error) *scriptedLogo {
	return &scriptedLogo{err: err, released: make(chan struct{})}
}

// TestPdfWithALateLogo checks that a document waits for its logo within the time limit,
// and that fetching continues for the next document.
func TestPdfWithALateLogo(t *testing.T) {
	t.Parallel()
	logo := newScriptedLogo(nil)
	r, _, _ := newPdfResolver(t, logo)
	snap := &content.Snapshot{Settings: settingsWithLogo()}

	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if d, complete := r.document(short, &lead.Lead{}, schema.LocaleEn, snap); complete ||
		d.Company.Logo != nil {
		t.Errorf("the document is complete without its logo: %+v", d.Company)
	}

	time.AfterFunc(20*time.Millisecond, func() { close(logo.released) })
	for range 2 {
		if d, complete := r.document(t.Context(), &lead.Lead{}, schema.LocaleEn, snap); !complete ||
			string(d.Company.Logo) != "logo" {
			t.Errorf("the document is incomplete with its logo: %+v", d.Company)
		}
	}

	if n := logo.loads.Load(); n != 1 {
		t.Errorf("the logo was loaded %d times", n)
	}
}

func settingsWithLogo() *content.Settings {
	logo := "https://cdn.example/logo.png"
	return &content.Settings{
		Shown: &schema.SiteSettings{Logo: &schema.Logo{Asset: &schema.ImageAsset{URL: &logo}}},
	}
}

func newPdfResolver(t *testing.T, logo LogoLoader) (*Resolver, *oneQuote, *blank) {
	t.Helper()
	entries := memory.New()
	t.Cleanup(func() { _ = entries.Close() })

	source := content.New(content.Options{
		CMS:   &labels{},
		Cache: entries,
		Log:   zerolog.Nop(),
		Life:  cache.Lifetime{Fresh: time.Hour, Stale: time.Hour},
	})
	t.Cleanup(func() { _ = source.Close(context.Background()) })

	quotes, page := &oneQuote{}, &blank{}
	return New(Deps{
		TimeZone:        time.UTC,
		Content:         source,
		Cache:           entries,
		Store:           quotes,
		PDF:             page,
		Logo:            logo,
		Log:             zerolog.Nop(),
		ObserveDatabase: func(string, time.Time, error) {},
	}), quotes, page
}

func clearAll(t *testing.T, r *Resolver, text string) {
	t.Helper()
	pattern := cache.Pattern(text)
	if _, err := r.Cache.Clear(t.Context(), pattern); err != nil {
		t.Fatal(err)
	}
}
