package telemetry

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Quotes times the database operations that visitors wait for.
func (m *Metrics) Quotes(q store.Quotes) store.Quotes { return &meteredQuotes{q, m} }

type meteredQuotes struct {
	store.Quotes
	metrics *Metrics
}

// observe records an operation that began at the given time. A lead that is not
// found is not a failure.
func (q *meteredQuotes) observe(operation string, began time.Time, failed *error) {
	outcome := "ok"
	switch err := *failed; {
	case errors.Is(err, store.ErrUnavailable):
		outcome = "unavailable"
	case err != nil && !errors.Is(err, store.ErrNotFound):
		outcome = "error"
	}

	q.metrics.database.WithLabelValues(operation, outcome).Observe(time.Since(began).Seconds())
}

// Track implements [store.Quotes].
func (q *meteredQuotes) Track(ctx context.Context, v lead.Visit) (err error) {
	defer q.observe("track", time.Now(), &err)
	return q.Quotes.Track(ctx, v)
}

// Submit implements [store.Quotes].
func (q *meteredQuotes) Submit(
	ctx context.Context, n store.NewLead,
) (s lead.Lead, created bool, err error) {
	defer q.observe("submit", time.Now(), &err)
	return q.Quotes.Submit(ctx, n)
}

// Lead implements [store.Quotes].
func (q *meteredQuotes) Lead(ctx context.Context, id string) (s lead.Lead, err error) {
	defer q.observe("submission", time.Now(), &err)
	return q.Quotes.Lead(ctx, id)
}
