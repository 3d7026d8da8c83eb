package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"siteapi/integrations/queue"
)

// queueCollector asks the queue for its numbers whenever metrics are read.
type queueCollector struct {
	queue       *queue.Queue
	number      *prometheus.Desc
	oldest      *prometheus.Desc
	undelivered *prometheus.Desc
	late        *prometheus.Desc
	up          *prometheus.Desc
}

// WatchQueue adds the numbers of the queue to the metrics.
func (m *Metrics) WatchQueue(q *queue.Queue) {
	labels := []string{"target", "state"}
	m.Registry.MustRegister(&queueCollector{
		queue:  q,
		number: prometheus.NewDesc("siteapi_deliveries", "Deliveries that have not arrived, by target and state; up to 1,000.", labels, nil),
		oldest: prometheus.NewDesc("siteapi_delivery_oldest_seconds", "Age of the oldest delivery in a state.", labels, nil),
		undelivered: prometheus.NewDesc("siteapi_lead_undelivered_seconds",
			"Age of the oldest lead that a target does not have, those that failed for good included; 0: there is none.", []string{"target"}, nil),
		late: prometheus.NewDesc("siteapi_deliveries_overdue", "Deliveries under way that are older than an hour.", nil, nil),
		up:   prometheus.NewDesc("siteapi_delivery_queue_up", "1 while the queue answers.", nil, nil),
	})
}

// Describe implements [prometheus.Collector].
func (c *queueCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.number, c.oldest, c.undelivered, c.late, c.up} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *queueCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	counts, err := c.queue.Counts(ctx)
	if err != nil {
		gauge(c.up, 0)
		return
	}
	gauge(c.up, 1)
	late, undelivered := int64(0), map[queue.Target]float64{}
	for _, n := range counts {
		age := 0.0
		if n.Number > 0 && !n.Oldest.IsZero() {
			age = time.Since(n.Oldest).Seconds()
		}
		late += n.Overdue
		gauge(c.number, float64(n.Number), string(n.Target), string(n.State))
		gauge(c.oldest, age, string(n.Target), string(n.State))
		undelivered[n.Target] = max(undelivered[n.Target], age)
	}
	gauge(c.late, float64(late))
	for target, age := range undelivered {
		gauge(c.undelivered, age, string(target))
	}
}
