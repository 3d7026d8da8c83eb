// Package telemetry makes what the service does visible: metrics, traces and the log.
package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
	"siteapi/resolvers"
)

// Metrics count what happens behind the endpoints. No label holds anything that a client
// chose, so the number of series is bounded.
type Metrics struct {
	Registry *prometheus.Registry
	reads    *prometheus.CounterVec
	events   *prometheus.CounterVec
	calls    *prometheus.HistogramVec
	database *prometheus.HistogramVec
	tries    *prometheus.CounterVec
	gaps     prometheus.Counter
}

// NewMetrics returns metrics of their own registry.
func NewMetrics(version string) *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	factory := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: "siteapi_" + name, Help: help}, labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "siteapi_" + name, Help: help,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, labels)
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "siteapi_build_info", Help: "Always 1; the version is a label.", ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
	return &Metrics{
		Registry: registry,
		reads:    counter("cache_reads_total", "Reads of the cache; a miss waits for a fill.", "family", "outcome"),
		events:   counter("events_total", "Things that happened in the resolvers.", "event", "detail"),
		calls:    histogram("upstream_call_seconds", "Calls to remote systems.", "system", "operation", "outcome"),
		database: histogram("database_seconds", "Time that requests wait for the database.", "operation", "outcome"),
		tries:    counter("delivery_tries_total", "Deliveries tried.", "target", "outcome"),
		gaps: factory.NewCounter(prometheus.CounterOpts{
			Name: "siteapi_crm_gaps_total", Help: "Properties that contacts in the CRM had to go without.",
		}),
	}
}

// Event counts what the resolvers report.
func (m *Metrics) Event(e resolvers.Event) { m.events.WithLabelValues(e.Name, e.Detail).Inc() }

// Call times a call to a remote system.
func (m *Metrics) Call(_ context.Context, c upstream.Call) {
	outcome := "ok"
	if c.Kind != "" {
		outcome = string(c.Kind)
	}
	m.calls.WithLabelValues(c.System, c.Op, outcome).Observe(c.Duration.Seconds())
}

// Gap counts a property that a contact had to go without.
func (m *Metrics) Gap() { m.gaps.Inc() }

// Delivery counts a try to deliver a submission.
func (m *Metrics) Delivery(target queue.Target, outcome queue.Outcome) {
	m.tries.WithLabelValues(string(target), string(outcome)).Inc()
}
