package telemetry

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// Quotes times what requests ask of the database.
func (m *Metrics) Quotes(q store.Quotes) store.Quotes { return &meteredQuotes{q, m.database} }

type meteredQuotes struct {
	store.Quotes
	seconds *prometheus.HistogramVec
}

// observe times one operation. Not finding something is no failure.
func (q *meteredQuotes) observe(operation string, began time.Time, err error) {
	outcome := "ok"
	switch {
	case errors.Is(err, store.ErrUnavailable):
		outcome = "unavailable"
	case err != nil && !errors.Is(err, store.ErrNotFound):
		outcome = "error"
	}
	q.seconds.WithLabelValues(operation, outcome).Observe(time.Since(began).Seconds())
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

// Session implements [store.Quotes].
func (q *meteredQuotes) Session(ctx context.Context, id string) (quote.Session, error) {
	began := time.Now()
	s, err := q.Quotes.Session(ctx, id)
	q.observe("session", began, err)
	return s, err
}

// Ping implements [store.Quotes].
func (q *meteredQuotes) Ping(ctx context.Context) error {
	began := time.Now()
	err := q.Quotes.Ping(ctx)
	q.observe("ping", began, err)
	return err
}

// collectTimeout is how long the database may take while metrics are read.
const collectTimeout = 2 * time.Second

// databaseCollector asks the database for its numbers whenever metrics are read.
type databaseCollector struct {
	archive store.Archive
	load    func() store.Load
	files   []string // of SQLite

	waiting, connections, size, inReview, oldest *prometheus.Desc
}

// WatchDatabase adds the database to the metrics, with the size of its files where it has
// some.
func (m *Metrics) WatchDatabase(archive store.Archive, load func() store.Load, files ...string) {
	m.Registry.MustRegister(&databaseCollector{
		archive: archive, load: load, files: files,
		waiting:     prometheus.NewDesc("siteapi_database_waiting", "Requests that wait for the write lock.", nil, nil),
		connections: prometheus.NewDesc("siteapi_database_connections", "Connections to the database by state.", []string{"state"}, nil),
		size:        prometheus.NewDesc("siteapi_database_bytes", "Size of SQLite's files, the write-ahead log included.", nil, nil),
		inReview:    prometheus.NewDesc("siteapi_leads_in_review", "Leads in review.", nil, nil),
		oldest:      prometheus.NewDesc("siteapi_lead_in_review_seconds", "Age of the oldest lead in review; 0: there is none.", nil, nil),
	})
}

// Describe implements [prometheus.Collector].
func (c *databaseCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.waiting, c.connections, c.size, c.inReview, c.oldest} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *databaseCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	load := c.load()
	gauge(c.waiting, float64(load.Waiting))
	gauge(c.connections, float64(load.Busy), "busy")
	gauge(c.connections, float64(load.Idle), "idle")
	var size int64
	for _, path := range c.files {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	if len(c.files) > 0 {
		gauge(c.size, float64(size))
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	inReview, oldest, err := c.archive.InReview(ctx)
	if err != nil {
		return // dependency_up says so
	}
	age := 0.0
	if inReview > 0 {
		age = time.Since(oldest).Seconds()
	}
	gauge(c.inReview, float64(inReview))
	gauge(c.oldest, age)
}
