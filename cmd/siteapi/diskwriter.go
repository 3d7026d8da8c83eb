package main

import (
	"context"
	"os"
	"sync"

	"siteapi/cmd/internal/tuning"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// diskWriter is a store whose writes wait for a disk of this machine.
type diskWriter struct {
	store.Quotes
	first sync.Once
}

// prepare is done before the first write.
func (w *diskWriter) prepare() { w.first.Do(func() { tuning.Disk(os.Getenv) }) }

// Track implements [store.Quotes].
func (w *diskWriter) Track(ctx context.Context, v quote.Visit) error {
	w.prepare()
	return w.Quotes.Track(ctx, v)
}

// Submit implements [store.Quotes].
func (w *diskWriter) Submit(ctx context.Context, n store.NewSubmission) (quote.Submission, bool, error) {
	w.prepare()
	return w.Quotes.Submit(ctx, n)
}
