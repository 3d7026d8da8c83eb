// Command bench measures the service and baselines in turn within the same run, and
// prints a line per figure:
//
//	name ratio baseline-value value unit (goal)
//
// Lines with a name in -processor have the processor time per request, which varies less
// on a busy machine than the rate. Lines of the inbox, with 100,000 leads and as many
// sessions, have no baseline:
//
//	name p50 value p95 value ms (goal)
//
// The workbook of all these leads is a line with its time alone.
//
// The ratio of value to baseline is the median of the rounds. For reads, each server uses
// one processor and the load on 32 connections the other. Figures that wait for the disk
// use both. Data is written to the folder for temporary files.
//
// Absolute values depend on the machine. The ratios should hold on any machine.
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
	// The service has the same setting, so garbage collection does not distort the
	// ratios.
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

	// The following fields belong to the current figure.
	processors int            // per server; 1 leaves the other to the load, 0: all
	dir        string         // data folder
	pids       map[string]int // process ids of its servers by address
	stops      []func()       // functions that stop its servers
}

// stop stops the servers of the current figure.
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
		{"estimate-units-vs-flat", 1, estimateUnitsVsFlat},
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
			fmt.Fprintf(os.Stderr, "# %s was skipped: %v\n", f.name, err)
		} else {
			harness.Check(err)
		}
	}
}

// report prints a figure from measurements of the baseline and the service in turn. The
// ratio is the median of the pairwise ratios, which is robust against drifting speed of
// the machine.
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

// inTurn takes two measurements in turn, after a warm-up of each.
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
