package resolvers

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/pdf"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// oneQuote is a store with one submission, until it is erased.
type oneQuote struct {
	store.Quotes
	reads  atomic.Int64
	erased atomic.Bool
}

func (q *oneQuote) Submission(_ context.Context, id string) (quote.Submission, error) {
	q.reads.Add(1)
	if id != "one" || q.erased.Load() {
		return quote.Submission{}, store.ErrNotFound
	}
	return quote.Submission{ID: id}, nil
}

// blank draws an empty page.
type blank struct{}

func (blank) Render(_ context.Context, d pdf.Document) ([]byte, error) {
	return []byte("%PDF " + d.Locale), nil
}

func TestPdfStands(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(t *testing.T, r *Resolver, q *oneQuote, c *clock)
		want   bool
	}{
		{"nothing happened", func(*testing.T, *Resolver, *oneQuote, *clock) {}, true},
		{"a moment later", func(_ *testing.T, _ *Resolver, _ *oneQuote, c *clock) { c.advance(SubmissionTrust - time.Millisecond) }, true},
		{"too long ago", func(_ *testing.T, _ *Resolver, _ *oneQuote, c *clock) { c.advance(SubmissionTrust) }, false},
		{"the document was cleared", func(t *testing.T, r *Resolver, _ *oneQuote, _ *clock) { clearAll(t, r, "quote:pdf:one:*") }, false},
		{"another was cleared", func(t *testing.T, r *Resolver, _ *oneQuote, _ *clock) { clearAll(t, r, "quote:pdf:two:*") }, true},
		{"the content was cleared", func(t *testing.T, r *Resolver, _ *oneQuote, _ *clock) { clearAll(t, r, "content:*") }, false},
		{"the content changed", func(t *testing.T, r *Resolver, _ *oneQuote, _ *clock) {
			r.CMS.(*scriptedCMS).set("new", nil)
			if err := r.ContentChanged(t.Context()); err != nil {
				t.Fatal(err)
			}
			title(t, r)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site, q, c := &scriptedCMS{title: "old"}, &oneQuote{}, &clock{}
			r := newContentResolver(t, site, nil, c)
			r.Quotes, r.PDF = q, blank{}
			var lasting schema.Lasting
			answer, err := r.quotePdf(schema.WithLasting(t.Context(), &lasting), "one", nil)
			if err != nil || string(answer.Content) != "%PDF en" {
				t.Fatalf("got %v, %v", answer, err)
			}
			tt.change(t, r, q, c)
			if got := lasting.Stands(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if q.reads.Load() != 1 {
				t.Errorf("the submission was read %d times", q.reads.Load())
			}
		})
	}
}

func TestPdfThatCannotBeHad(t *testing.T) {
	t.Parallel()
	q := &oneQuote{}
	r := newContentResolver(t, &scriptedCMS{title: "x"}, nil, &clock{})
	r.Quotes, r.PDF = q, blank{}
	q.erased.Store(true)
	var lasting schema.Lasting
	if _, err := r.quotePdf(schema.WithLasting(t.Context(), &lasting), "one", nil); err == nil || lasting.Stands != nil {
		t.Errorf("an erased submission: %v", err)
	}
}

func clearAll(t *testing.T, r *Resolver, text string) {
	t.Helper()
	pattern, err := cache.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Cache.Clear(t.Context(), pattern); err != nil {
		t.Fatal(err)
	}
}
