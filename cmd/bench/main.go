// Command bench measures the service against baselines, both in the same run and in
// turn, and prints one line a figure:
//
//	name ratio baseline-value value unit (goal)
//
// The ratio is value to baseline, the median of the rounds. For reads each server has
// one processor to itself and the load comes from the other, over 32 connections; what
// waits for the disk has both. The disk is that of the folder for temporary files; for
// track-vs-single both sides' flushes are slowed by a millisecond with strace. Absolute
// values say something about the machine; the ratios should hold on any.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"time"

	"siteapi/cmd/internal/harness"
)

func main() {
	debug.SetGCPercent(400) // what the service sets, so that no figure is the collector's
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if role := os.Getenv(roleVariable); role != "" {
		err = harness.Run(func() { serveRole(ctx, role) })
	} else {
		err = run(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench says how much is measured, and where.
type bench struct {
	binary string
	rounds int
	each   time.Duration
	dir    string   // of the figure that is being measured
	stops  []func() // of its servers
}

// stop stops the servers of a figure.
func (b *bench) stop() {
	for _, stop := range b.stops {
		stop()
	}
	b.stops = nil
}

func run(ctx context.Context) error {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/siteapi", "the service")
	flag.IntVar(&b.rounds, "rounds", 9, "rounds of each pair; the median is reported")
	flag.DurationVar(&b.each, "each", time.Second, "length of one measurement")
	only := flag.String("only", "", "regular expression of the figures to measure")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	figures := []struct {
		name    string
		measure func(ctx context.Context, b *bench) []line
	}{
		{"read-vs-nethttp", readVsNetHTTP}, {"read-miss-vs-gqlgen", readMissVsGqlgen}, {"read-1mb-vs-10kb", readLarge},
		{"rest-vs-nethttp", restVsNetHTTP}, {"track", track}, {"track-vs-single", trackVsSingle}, {"pdf-cold", pdfCold},
		{"pdf-cached-vs-nethttp", pdfCached}, {"valkey-read-vs-memory", valkeyRead}, {"start", start}, {"memory", residentMemory},
	}
	fmt.Println("# name ratio baseline-value value unit (goal)")
	for _, f := range figures {
		if !wanted.MatchString(f.name) {
			continue
		}
		if b.dir, err = os.MkdirTemp("", "siteapi-bench-"); err != nil {
			return err
		}
		err := harness.Run(func() {
			for _, l := range f.measure(ctx, &b) {
				fmt.Println(l)
			}
		})
		b.stop()
		_ = os.RemoveAll(b.dir)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// line is one figure of the report.
type line struct {
	name                   string
	ratio, baseline, value float64
	unit, goal             string
}

func (l line) String() string {
	return fmt.Sprintf("%s %.3f %.4g %.4g %s (goal %s)", l.name, l.ratio, l.baseline, l.value, l.unit, l.goal)
}

// compare makes a line of measurements taken in turn. The ratio is the median of the
// ratios pair by pair, which holds while the machine's speed drifts.
func compare(name, unit, goal string, baseline, value []float64) line {
	ratios := make([]float64, len(value))
	for i := range value {
		ratios[i] = value[i] / baseline[i]
	}
	return line{name: name, unit: unit, goal: goal, baseline: median(baseline), value: median(value), ratio: median(ratios)}
}

func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
