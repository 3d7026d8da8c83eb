package httpserver

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics count requests and connections. No label takes a value that a client chose, so
// the number of series is bounded.
type metrics struct {
	latency    *prometheus.HistogramVec
	shed       *prometheus.CounterVec // requests refused, by class
	operations *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, requests *inFlight, connections *connections) *metrics {
	factory := promauto.With(r)
	gauge := func(name, help string, labels prometheus.Labels, read func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read)
	}

	shed := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "siteapi_http_requests_shed_total",
		Help: "Requests refused because too many were being worked on.",
	}, []string{"class"})
	for _, class := range []string{classAll, classReading, classLarge, classToken} {
		shed.WithLabelValues(class)
		gauge("siteapi_http_requests_under_way",
			"Requests being worked on: of all clients, with large bodies that are arriving or have "+
				"arrived, and with a valid token.",
			prometheus.Labels{"class": class},
			func() float64 { return requests.number(class) })
	}

	gauge("siteapi_connections", "Open connections of clients.", nil, connections.number)
	connections.refused = factory.NewCounter(prometheus.CounterOpts{
		Name: "siteapi_connections_refused_total",
		Help: "Connections closed because too many were open.",
	}).Inc

	return &metrics{
		shed: shed,
		latency: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "siteapi_http_request_seconds",
			Help:    "Time to answer an HTTP request.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "code"}),
		operations: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "siteapi_graphql_operations_total",
			Help: "GraphQL requests answered, by root field.",
		}, []string{"operation", "outcome"}),
	}
}

// request counts one request and the outcome of its GraphQL operation.
func (m *metrics) request(r *http.Request, rec *record, took time.Duration) {
	if !rec.stream {
		m.latency.WithLabelValues(cmp.Or(r.Pattern, "other"), strconv.Itoa(rec.status)).
			Observe(took.Seconds())
	}

	if r.Pattern != GraphQLPath {
		return
	}

	name, outcome := "", "executed"
	switch fields := rec.operation.RootFields; len(fields) {
	case 0:
	case 1:
		name = fields[0]
	default:
		name = "multiple"
	}

	switch {
	case rec.operation.Cached:
		outcome = "cached"
	case rec.code != "":
		outcome = "failed"
	}

	m.operations.WithLabelValues(name, outcome).Inc()
}
