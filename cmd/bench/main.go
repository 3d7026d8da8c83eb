// Command bench measures the service against baselines, both in the same run and in
// turn, and prints one line per figure:
//
//	name ratio baseline-value value unit (goal)
//
// A line whose name ends in -processor has the processor time of a request beside its rate,
// which varies less on a busy machine. Lines of the inbox, over 100,000 leads and as many
// sessions, have no baseline:
//
//	name p50 value p95 value ms (goal)
//
// The ratio is value to baseline, the median of the rounds. For reads each server uses
// one processor and the load, over 32 connections, the other;
// figures that wait for the disk use both. Data is written to the folder for temporary
// files.
// Absolute values say something about the machine; the ratios should hold on any.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/store/storetest/pgserver"
)

func main() {
	// The service has the same setting, so garbage collection distorts no ratio.
	debug.SetGCPercent(400)

	if len(os.Args) == 4 && os.Args[1] == "serve" {
		harness.Main("bench", func(ctx context.Context) { serve(ctx, os.Args[2], os.Args[3]) })
		return
	}
	harness.Main("bench", run)
}

// bench is the environment of the measurements.
type bench struct {
	binary string
	rounds int
	each   time.Duration

	// The following fields belong to the figure that is being measured.
	processors int            // of each server; 1 leaves the other to the load, 0 is all
	dir        string         // data folder
	pids       map[string]int // of its servers, by address
	stops      []func()       // functions that stop its servers
}

// stop stops the servers of a figure.
func (b *bench) stop() {
	for _, stop := range b.stops {
		stop()
	}
	b.stops = nil
}

func run(ctx context.Context) {
	b := bench{pids: map[string]int{}}
	flag.StringVar(&b.binary, "binary", "bin/siteapi", "the service")
	flag.IntVar(&b.rounds, "rounds", 9, "rounds of each pair; the median is reported")
	flag.DurationVar(&b.each, "each", time.Second, "length of one measurement")
	only := flag.String("only", "", "regular expression of the figures to measure")
	flag.Parse()

	wanted := harness.Must(regexp.Compile(*only))
	fmt.Println("# name ratio baseline-value value unit (goal)")

	for _, f := range []struct {
		name       string
		processors int
		measure    func(ctx context.Context, b *bench)
	}{
		{"read-vs-nethttp", 1, readVsNetHTTP},
		{"read-gzip-vs-nethttp", 1, readGzipVsNetHTTP},
		{"read-miss-vs-gqlgen", 1, readMissVsGqlgen},
		{"rest-vs-nethttp", 1, restVsNetHTTP},
		{"estimate-vs-nethttp", 1, estimateVsNetHTTP},
		{"track", 0, track},
		{"submit-vs-group-commit", 0, submit},
		{"pdf-cold", 0, pdfCold},
		{"pdf-cached-vs-nethttp", 1, pdfCached},
		{"inbox-sqlite", 0, inboxOnSQLite},
		{"inbox-postgres", 0, inboxOnPostgres},
		{"start", 0, start},
		{"memory", 0, residentMemory},
	} {
		if !wanted.MatchString(f.name) {
			continue
		}

		b.processors, b.dir = f.processors, harness.Must(os.MkdirTemp("", "siteapi-bench-"))
		err := harness.Run(func() { f.measure(ctx, &b) })
		b.stop()
		_ = os.RemoveAll(b.dir)

		if errors.Is(err, pgserver.ErrNoBinaries) {
			fmt.Fprintf(os.Stderr, "# %s is left out: %v\n", f.name, err)
		} else {
			harness.Check(err)
		}
	}
}

// report prints a figure from measurements taken in turn, the baseline's first. The ratio
// is the median of the pairwise ratios, which holds while the machine's speed drifts.
func report(name, unit, goal string, values [2][]float64) {
	baseline, value := values[0], values[1]

	ratios := make([]float64, len(value))
	for i := range value {
		ratios[i] = value[i] / baseline[i]
	}

	fmt.Printf("%s %.3f %.4g %.4g %s (goal %s)\n",
		name, median(ratios), median(baseline), median(value), unit, goal)
}

func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// inTurn takes two measurements in turn, after one of each that does not count.
func inTurn(rounds int, measure func(side int) float64) (values [2][]float64) {
	for round := range rounds + 1 {
		for side := range values {
			if value := measure(side); round > 0 {
				values[side] = append(values[side], value)
			}
		}
	}
	return values
}
