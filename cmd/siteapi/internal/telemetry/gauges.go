package telemetry

import (
	"context"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"siteapi/integrations/queue"
	"siteapi/integrations/store"
)

// collectTimeout is how long the database may take while metrics are read.
const collectTimeout = 2 * time.Second

// set adds one gauge to what is being collected.
type set func(name, help string, value float64, labels prometheus.Labels)

// collector asks for its gauges whenever metrics are read.
type collector func(ctx context.Context, set set)

// Describe implements [prometheus.Collector]. Which gauges there are is not known before.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	c(ctx, func(name, help string, value float64, labels prometheus.Labels) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("siteapi_"+name, help, nil, labels), prometheus.GaugeValue, value)
	})
}

// age returns the seconds since a time; 0 where there is none.
func age(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return time.Since(t).Seconds()
}

// WatchQueue adds the deliveries that have not arrived to the metrics.
func (m *Metrics) WatchQueue(q *queue.Queue) {
	m.Registry.MustRegister(collector(func(ctx context.Context, set set) {
		counts, err := q.Counts(ctx)
		if err != nil {
			return // siteapi_dependency_up tells of the database
		}
		undelivered := map[queue.Target]float64{}
		for _, n := range counts {
			set("deliveries", "Deliveries that have not arrived, by target and state.", float64(n.Number),
				prometheus.Labels{"target": string(n.Target), "state": string(n.State)})
			undelivered[n.Target] = max(undelivered[n.Target], age(n.Oldest))
		}
		for target, seconds := range undelivered {
			set("lead_undelivered_seconds", "Age of the oldest lead that a target does not have, failed for good or not; 0: there is none.",
				seconds, prometheus.Labels{"target": string(target)})
		}
	}))
}

// WatchDatabase adds the database to the metrics, with the size of its files where it has
// some.
func (m *Metrics) WatchDatabase(archive store.Archive, load func() store.Load, files ...string) {
	m.Registry.MustRegister(collector(func(ctx context.Context, set set) {
		now := load()
		set("database_waiting", "Requests that wait for the write lock.", float64(now.Waiting), nil)
		for state, n := range map[string]int{"busy": now.Busy, "idle": now.Idle} {
			set("database_connections", "Connections to the database by state.", float64(n), prometheus.Labels{"state": state})
		}
		if len(files) > 0 {
			var size int64
			for _, path := range files {
				if info, err := os.Stat(path); err == nil {
					size += info.Size()
				}
			}
			set("database_bytes", "Size of SQLite's files, the write-ahead log included.", float64(size), nil)
		}
		number, oldest, err := archive.InReview(ctx)
		if err != nil {
			return
		}
		set("leads_in_review", "Leads in review.", float64(number), nil)
		set("lead_in_review_seconds", "Age of the oldest lead in review; 0: there is none.", age(oldest), nil)
	}))
}
