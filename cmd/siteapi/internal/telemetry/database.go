package telemetry

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// Quotes times what visitors wait for in the database.
func (m *Metrics) Quotes(q store.Quotes) store.Quotes { return &meteredQuotes{q, m} }

type meteredQuotes struct {
	store.Quotes
	metrics *Metrics
}

// observe times one operation. A submission that is not found is no failure.
func (q *meteredQuotes) observe(operation string, began time.Time, err error) {
	outcome := "ok"
	switch {
	case errors.Is(err, store.ErrUnavailable):
		outcome = "unavailable"
	case err != nil && !errors.Is(err, store.ErrNotFound):
		outcome = "error"
	}
	q.metrics.database.WithLabelValues(operation, outcome).Observe(time.Since(began).Seconds())
}

// Track implements [store.Quotes].
func (q *meteredQuotes) Track(ctx context.Context, v quote.Visit) error {
	began := time.Now()
	err := q.Quotes.Track(ctx, v)
	q.observe("track", began, err)
	return err
}

// Submit implements [store.Quotes].
func (q *meteredQuotes) Submit(ctx context.Context, n store.NewSubmission) (quote.Submission, bool, error) {
	began := time.Now()
	s, created, err := q.Quotes.Submit(ctx, n)
	q.observe("submit", began, err)
	return s, created, err
}

// Submission implements [store.Quotes].
func (q *meteredQuotes) Submission(ctx context.Context, id string) (quote.Submission, error) {
	began := time.Now()
	s, err := q.Quotes.Submission(ctx, id)
	q.observe("submission", began, err)
	return s, err
}
