// Package storebench measures how fast visits are stored durably: the baselines that
// a store is compared with, the load, and the figures.
package storebench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"siteapi/integrations/quote"
)

// Tracker is what is measured.
type Tracker interface {
	// Track stores a visit and returns when it is durable.
	Track(ctx context.Context, v quote.Visit) error
}

// Load says what is sent.
type Load struct {
	Clients  int // goroutines, each sending one visit after the other
	Visits   int // in all
	Sessions int // different sessions, visited in turn
}

// Figures are what came of a load.
type Figures struct {
	PerSecond     float64
	P50, P99, Max time.Duration
}

// Report adds the figures to a benchmark's line.
func (f Figures) Report(b interface{ ReportMetric(n float64, unit string) }) {
	b.ReportMetric(f.PerSecond, "visits/s")
	b.ReportMetric(float64(f.P50.Microseconds()), "p50-µs")
	b.ReportMetric(float64(f.P99.Microseconds()), "p99-µs")
	b.ReportMetric(float64(f.Max.Microseconds()), "max-µs")
}

// Run sends the load to t and measures it.
func Run(ctx context.Context, t Tracker, l Load) (Figures, error) {
	took := make([]time.Duration, l.Visits)
	errs := make([]error, l.Clients)
	var wg sync.WaitGroup
	begin := time.Now()
	for c := range l.Clients {
		wg.Go(func() {
			for i := c; i < l.Visits; i += l.Clients {
				v := Visit(i % l.Sessions)
				start := time.Now()
				v.At = start.UTC().Truncate(time.Millisecond)
				if err := t.Track(ctx, v); err != nil {
					errs[c] = err
					return
				}
				took[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	all := time.Since(begin)
	for _, err := range errs {
		if err != nil {
			return Figures{}, fmt.Errorf("tracking: %w", err)
		}
	}
	slices.Sort(took)
	at := func(p float64) time.Duration { return took[int(p*float64(len(took)-1))] }
	return Figures{
		PerSecond: float64(l.Visits) / all.Seconds(), P50: at(0.5), P99: at(0.99), Max: took[len(took)-1],
	}, nil
}

// Visit makes a typical visit of the n-th session. The ids are spread like random
// ones, but are the same in each run.
func Visit(n int) quote.Visit {
	low, high := 5000.0+float64(n%100), 9000.0+float64(n%100)
	return quote.Visit{
		SessionID: fmt.Sprintf("%016x-%d", uint64(n+1)*0x9e3779b97f4a7c15, n),
		Selections: quote.Selections{
			ProjectType: "web-app", Features: []string{"auth", "payments", "search"}, Complexity: "medium",
		},
		Estimate: quote.PartialEstimate{Min: &low, Max: &high, Currency: "EUR"},
		Hints:    quote.Hints{Email: "ana@example.com", FirstName: "Ana"},
	}
}
