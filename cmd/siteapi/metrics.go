package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
	"siteapi/resolvers"
	"siteapi/schema"
)

// metrics counts what the service does, in Prometheus' terms. No label holds anything
// a stranger chose, so the number of series is bounded.
type metrics struct {
	registry   *prometheus.Registry
	requests   *series[requestLabels, prometheus.Counter]
	latency    *series[string, prometheus.Observer]
	operations *series[operationLabels, prometheus.Counter]
	fills      *prometheus.CounterVec
	events     *prometheus.CounterVec
	calls      *prometheus.HistogramVec
	tries      *prometheus.CounterVec
	gaps       prometheus.Counter
	sheds      *prometheus.CounterVec
	refused    prometheus.Counter
	reads      *prometheus.CounterVec
	database   *prometheus.HistogramVec
}

// requestLabels tell the counters of requests apart, operationLabels those of
// GraphQL operations.
type (
	requestLabels struct {
		route  string
		status int
	}
	operationLabels struct {
		operation string
		outcome   string
		code      schema.Code
	}
)

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "siteapi", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "siteapi", Name: name, Help: help,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, labels)
	}
	requests := counter("http_requests_total", "HTTP requests answered.", "route", "code")
	latency := histogram("http_request_seconds", "Time to answer an HTTP request.", "route")
	operations := counter("graphql_operations_total", "GraphQL requests answered, by root field.", "operation", "outcome", "code")
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: newSeries(func(l requestLabels) prometheus.Counter {
			return requests.WithLabelValues(l.route, strconv.Itoa(l.status))
		}),
		latency: newSeries(func(route string) prometheus.Observer { return latency.WithLabelValues(route) }),
		operations: newSeries(func(l operationLabels) prometheus.Counter {
			return operations.WithLabelValues(l.operation, l.outcome, string(l.code))
		}),
		fills:  counter("cache_fills_total", "Cache entries filled.", "family", "outcome"),
		events: counter("events_total", "Things that happened in the resolvers.", "event", "detail"),
		calls:  histogram("upstream_call_seconds", "Calls to remote systems.", "system", "operation", "outcome"),
		tries:  counter("delivery_tries_total", "Deliveries tried.", "target", "outcome"),
		sheds:  counter("http_requests_shed_total", "Requests refused because too many of their class were under way.", "class"),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "siteapi", Name: "connections_refused_total", Help: "Connections refused because too many were open.",
		}),
		reads:    counter("cache_reads_total", "Reads of the cache; a miss waits for a fill.", "family", "outcome"),
		database: histogram("database_seconds", "Time that requests wait for the database.", "operation", "outcome"),
		gaps: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "siteapi", Name: "crm_gaps_total", Help: "Properties that contacts in the CRM had to go without.",
		}),
	}
	m.registry.MustRegister(requests, latency, operations, m.fills, m.events, m.calls, m.tries, m.gaps, m.sheds, m.refused,
		m.reads, m.database, buildInfo(),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) request(route string, status int, took time.Duration) {
	m.requests.of(requestLabels{route, status}).Inc()
	m.latency.of(route).Observe(took.Seconds())
}

// operation counts an operation by its root field and returns what became of it.
func (m *metrics) operation(s *schema.Summary) (outcome string) {
	name := ""
	switch len(s.RootFields) {
	case 0:
	case 1:
		name = s.RootFields[0]
	default:
		name = "multiple"
	}
	outcome = "executed"
	switch {
	case s.Cached:
		outcome = "cached"
	case s.Code != "":
		outcome = "failed"
	}
	m.operations.of(operationLabels{name, outcome, s.Code}).Inc()
	return outcome
}

func (m *metrics) event(e resolvers.Event) { m.events.WithLabelValues(e.Name, e.Detail).Inc() }

func (m *metrics) call(_ context.Context, c upstream.Call) {
	outcome := "ok"
	if c.Kind != "" {
		outcome = string(c.Kind)
	}
	m.calls.WithLabelValues(c.System, c.Op, outcome).Observe(c.Duration.Seconds())
}

func (m *metrics) delivery(target queue.Target, outcome queue.Outcome) {
	m.tries.WithLabelValues(string(target), string(outcome)).Inc()
}

// handler serves the metrics.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}
