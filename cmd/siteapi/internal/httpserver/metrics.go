package httpserver

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics count requests and connections. No label holds anything that a client chose, so
// the number of series is bounded.
type metrics struct {
	factory  promauto.Factory
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	shed     *prometheus.CounterVec
	refused  prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	factory := promauto.With(r)
	return &metrics{
		factory: factory,
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "siteapi_http_requests_total", Help: "HTTP requests answered.",
		}, []string{"route", "code"}),
		latency: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "siteapi_http_request_seconds", Help: "Time to answer an HTTP request.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
		shed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "siteapi_http_requests_shed_total", Help: "Requests refused because too many of their class were under way.",
		}, []string{"class"}),
		refused: factory.NewCounter(prometheus.CounterOpts{
			Name: "siteapi_connections_refused_total", Help: "Connections refused because too many were open.",
		}),
	}
}

func (m *metrics) request(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.latency.WithLabelValues(route).Observe(took.Seconds())
}

// watch adds a gauge that is read whenever metrics are. An empty class stands for none.
func (m *metrics) watch(name, help, class string, read func() float64) {
	labels := prometheus.Labels{}
	if class != "" {
		labels["class"] = class
	}
	m.factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "siteapi_" + name, Help: help, ConstLabels: labels}, read)
}
