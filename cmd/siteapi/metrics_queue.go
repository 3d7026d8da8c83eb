package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"siteapi/integrations/delivery"
)

// queueCollector asks the queue for its numbers whenever metrics are read.
type queueCollector struct {
	queue       delivery.Queue
	number      *prometheus.Desc
	oldest      *prometheus.Desc
	undelivered *prometheus.Desc
	late        *prometheus.Desc
	up          *prometheus.Desc
	lateness    *lateness
}

// watchQueue adds the numbers of the queue to the metrics.
func (m *metrics) watchQueue(q delivery.Queue) {
	labels := []string{"target", "state"}
	m.registry.MustRegister(&queueCollector{
		queue:    q,
		lateness: &m.late,
		number:   prometheus.NewDesc("siteapi_deliveries", "Deliveries by target and state.", labels, nil),
		oldest:   prometheus.NewDesc("siteapi_delivery_oldest_seconds", "Age of the oldest delivery in a state.", labels, nil),
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
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	counts, err := c.queue.Counts(ctx)
	if err != nil {
		gauge(c.up, 0)
		return
	}
	gauge(c.up, 1)
	gauge(c.late, float64(c.lateness.number(time.Now())))
	undelivered := map[delivery.Target]float64{}
	for _, n := range counts {
		age := 0.0
		if n.Number > 0 && !n.Oldest.IsZero() {
			age = time.Since(n.Oldest).Seconds()
		}
		gauge(c.number, float64(n.Number), string(n.Target), string(n.State))
		gauge(c.oldest, age, string(n.Target), string(n.State))
		if n.State != delivery.Delivered {
			undelivered[n.Target] = max(undelivered[n.Target], age)
		}
	}
	for target, age := range undelivered {
		gauge(c.undelivered, age, string(target))
	}
}

// lateness is what the queue last said of overdue deliveries. It speaks once a minute,
// and only while there are any.
type lateness struct {
	mu     sync.Mutex
	count  int64
	spoken time.Time
}

// lateFor is how long the queue's word holds.
const lateFor = 150 * time.Second

// overdue takes note of overdue deliveries; the log line is the queue's own.
func (m *metrics) overdue(number int64, _ time.Time) {
	m.late.mu.Lock()
	defer m.late.mu.Unlock()
	m.late.count, m.late.spoken = number, time.Now()
}

// number is how many deliveries are overdue.
func (l *lateness) number(now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.spoken) > lateFor {
		return 0
	}
	return l.count
}

// gap counts a property that a contact had to go without.
func (m *metrics) gap() { m.gaps.Inc() }
