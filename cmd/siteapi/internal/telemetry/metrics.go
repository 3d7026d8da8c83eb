// Package telemetry provides the metrics, traces and logs of the service.
package telemetry

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

// Metrics counts work behind the endpoints. Labels have no values from clients, so the
// number of series is bounded.
type Metrics struct {
	Registry *prometheus.Registry
	reads    *prometheus.CounterVec
	events   *prometheus.CounterVec
	webhooks *prometheus.GaugeVec // times of the last CMS webhooks by outcome
	calls    *prometheus.HistogramVec
	database *prometheus.HistogramVec
	tries    *prometheus.CounterVec
	Gaps     prometheus.Counter // properties missing in stored contacts

	logDropped prometheus.Counter
}

// NewMetrics returns metrics in a new registry.
func NewMetrics(version string) *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)

	factory := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: "siteapi_" + name, Help: help}, labels)
	}

	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "siteapi_build_info",
		Help:        "Always 1, with the version as a label.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })

	m := &Metrics{
		Registry: registry,
		reads: counter("cache_reads_total", "Reads of the cache; a miss finds no fresh entry.",
			"family", "outcome"),
		events: counter("events_total", "Events in the resolvers.", "event", "detail"),
		webhooks: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "siteapi_webhook_timestamp_seconds",
			Help: "Time of the last CMS webhook at this instance, by outcome.",
		}, []string{"outcome"}),

		calls: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "siteapi_upstream_call_seconds",
			Help:    "Duration of calls to remote systems.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"system", "operation", "outcome"}),

		database: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "siteapi_database_seconds",
			Help:    "Time that requests wait for the database.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"operation", "outcome"}),

		tries: counter("delivery_tries_total", "Delivery attempts.", "target", "outcome"),
		Gaps: factory.NewCounter(prometheus.CounterOpts{
			Name: "siteapi_crm_gaps_total",
			Help: "Properties missing in contacts that were stored in the CRM.",
		}),
		logDropped: factory.NewCounter(prometheus.CounterOpts{
			Name: "siteapi_log_dropped_total",
			Help: "Lines of the log that were dropped because their reader was slow or gone.",
		}),
	}

	// An increase is only seen from a known value on: the first event that an alert or the
	// dashboard counts has to follow a 0.
	for event, details := range map[string]string{
		"crm_pull":   "complete failed",
		"submission": "created",
		"webhook":    "ok refused_token refused_signature refused_clock refused_body",
	} {
		for detail := range strings.FieldsSeq(details) {
			m.events.WithLabelValues(event, detail)
		}
	}
	for _, target := range []lead.Target{lead.VisitorMail, lead.SalesMail, "owner_mail"} {
		m.tries.WithLabelValues(string(target), string(upstream.Refused))
		m.tries.WithLabelValues(string(target), string(queue.OutcomeUnconfirmed))
	}
	return m
}

// Event counts an event of the resolvers.
func (m *Metrics) Event(event, detail string) {
	m.events.WithLabelValues(event, detail).Inc()
	if event == "webhook" {
		m.webhooks.WithLabelValues(detail).SetToCurrentTime()
	}
}

// Call records a call to a remote system.
func (m *Metrics) Call(_ context.Context, c upstream.Call) {
	m.calls.WithLabelValues(c.System, c.Op, cmp.Or(string(c.Kind), "ok")).Observe(c.Duration.Seconds())
}

// Delivery counts an attempt to deliver a lead.
func (m *Metrics) Delivery(target lead.Target, outcome queue.Outcome) {
	m.tries.WithLabelValues(string(target), string(outcome)).Inc()
}

// Cache counts the reads of a cache. A read of a fresh entry is a hit. Calls of Peek are
// not counted.
func (m *Metrics) Cache(c cache.Cache) cache.Cache {
	return &meteredCache{c, m}
}

type meteredCache struct {
	cache.Cache
	metrics *Metrics
}

// Get implements [cache.Cache].
func (c *meteredCache) Get(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	outcome := "miss"
	if _, fresh := c.Peek(ctx, key); fresh {
		outcome = "hit"
	}

	family, _, _ := strings.Cut(key, ":")
	c.metrics.reads.WithLabelValues(family, outcome).Inc()
	return c.Cache.Get(ctx, key, fill)
}

const databaseBytes = "Size of each PostgreSQL table, or of the SQLite files including the write-ahead log."

// Gauges are metrics that are read at each scrape, most of them from the database.
type Gauges struct {
	Queue   *queue.Queue
	Load    func() store.Load
	Watcher cms.Watcher // detects changes of content; nil with CMS_WATCH=off

	// Unusable reports whether the published price rules or texts are invalid, by the kind
	// of their revisions.
	Unusable func(kind string) bool

	// Pulled returns the time of the last successful pull of outcomes from the CRM, or
	// before the first one the submission time of the oldest lead. It is nil if the CRM
	// reports no outcomes.
	Pulled func(ctx context.Context) (time.Time, error)

	// Sizes returns the sizes of the tables. That of SQLite's file has no name.
	Sizes func(ctx context.Context) (map[string]int64, error)
}

// Describe implements [prometheus.Collector] as an unchecked collector: the gauges vary.
func (Gauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (g Gauges) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()

	set := func(name, help string, value float64, labels prometheus.Labels) {
		ch <- prometheus.MustNewConstMetric(
			prometheus.NewDesc("siteapi_"+name, help, nil, labels), prometheus.GaugeValue, value)
	}

	load := g.Load()
	set("database_waiting", "Requests that wait for the write lock.", float64(load.Waiting), nil)
	for state, n := range map[string]int{"busy": load.Busy, "idle": load.Idle} {
		set("database_connections", "Connections to the database by state.",
			float64(n), prometheus.Labels{"state": state})
	}

	if g.Watcher != nil && g.Watcher.Watching().Mode != "" {
		now := g.Watcher.Watching()
		set("content_watch_seconds", "Time since this instance began to detect content changes in a mode.",
			age(now.Since), prometheus.Labels{"mode": now.Mode})
	}

	for kind, name := range map[string]string{store.Prices: "price_rules", store.Texts: "quote_texts"} {
		unusable := 0.0
		if g.Unusable(kind) {
			unusable = 1
		}
		set(name+"_unusable", "Whether the published document is invalid, so that the last valid "+
			"one, if there was any, is in force.",
			unusable, nil)
	}

	sizes, _ := g.Sizes(ctx) // siteapi_dependency_up reports database failures
	for table, size := range sizes {
		set("database_bytes", databaseBytes, float64(size), prometheus.Labels{"table": table})
	}

	if g.Pulled != nil {
		if at, err := g.Pulled(ctx); err == nil && !at.IsZero() {
			set("crm_pull_seconds",
				"Time since the last pull of outcomes from the CRM; before the first, age of the "+
					"oldest lead.",
				age(at), nil)
		}
	}

	g.collectLeads(ctx, set)
}

// collectLeads sets the metrics of leads, deliveries and receivers. If the database fails
// it sets none, and siteapi_dependency_up reports the failure.
func (g Gauges) collectLeads(
	ctx context.Context, set func(name, help string, value float64, labels prometheus.Labels),
) {
	number, oldest, err := g.Queue.Store.InReview(ctx)
	deletions, asked, unread := g.Queue.Store.OpenDeletions(ctx)
	counts, failed := g.Queue.Store.CountDeliveries(ctx)
	backlogs, unknown := g.Queue.Backlogs(ctx)
	stuck, lost := g.Queue.Store.StuckMails(ctx, time.Now())
	if cmp.Or(err, unread, failed, unknown, lost) != nil {
		return
	}

	set("leads_in_review", "Leads in review.", float64(number), nil)
	set("lead_in_review_seconds", "Age of the oldest lead in review, or 0.", age(oldest), nil)
	set("deletion_requests", "Leads whose visitors asked for the deletion and wait for an answer.",
		float64(deletions), nil)
	set("deletion_request_seconds", "Age of the oldest request for deletion without an answer, or 0.",
		age(asked), nil)
	for _, n := range counts {
		labels := prometheus.Labels{"target": string(n.Target), "state": string(n.State)}
		set("deliveries", "Deliveries that have not succeeded.", float64(n.Number), labels)
		set("lead_undelivered_seconds",
			"Age of the oldest lead that is not delivered to a target, or 0.",
			age(n.Oldest), labels)
	}
	set("visitor_mail_stuck_seconds",
		"Age of the oldest mail to a visitor if mails to several domains, or one for hours, do not "+
			"arrive, or 0.",
		age(stuck.Since), nil)
	for _, b := range backlogs {
		set("edge_behind_seconds",
			"Age of the oldest content change that a receiver was not notified of, or 0.",
			b.Oldest.Seconds(), prometheus.Labels{"receiver": b.Receiver})
	}
}

// age returns the seconds since a time, or 0 for the zero time.
func age(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Since(t).Seconds())
}
