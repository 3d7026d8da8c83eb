package httpserver

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics counts requests and connections. Labels have no values from clients, so the
// number of series is bounded.
type metrics struct {
	latency    *prometheus.HistogramVec
	operations *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, connections *connections) *metrics {
	factory := promauto.With(r)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "siteapi_connections",
		Help: "Open connections of clients.",
	}, connections.number)
	connections.refused = factory.NewCounter(prometheus.CounterOpts{
		Name: "siteapi_connections_refused_total",
		Help: "Connections refused by a connection limit.",
	}).Inc

	return &metrics{
		latency: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "siteapi_http_request_seconds",
			Help:    "Duration of HTTP requests.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "code"}),
		operations: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "siteapi_graphql_operations_total",
			Help: "GraphQL requests by root field.",
		}, []string{"operation", "outcome"}),
	}
}

// request counts a request and the outcome of its GraphQL operation.
func (m *metrics) request(r *http.Request, rec *record, took time.Duration) {
	if !rec.stream {
		m.latency.WithLabelValues(cmp.Or(r.Pattern, "other"), strconv.Itoa(rec.status)).
			Observe(took.Seconds())
	}

	if r.Pattern != GraphQLPath {
		return
	}

	name, outcome := "", "executed"
	switch fields := rec.Operation.RootFields; len(fields) {
	case 0:
	case 1:
		name = fields[0]
	default:
		name = "multiple"
	}

	switch {
	case rec.Operation.Cached:
		outcome = "cached"
	case rec.Code != "":
		outcome = "failed"
	}

	m.operations.WithLabelValues(name, outcome).Inc()
}
