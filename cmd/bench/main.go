// Command bench measures the service against baselines, both in the same run and in
// turn, and prints one line a figure:
//
//	name ratio baseline-value value unit
//
// The ratio is value to baseline; a line ends with the goal where there is one. Values
// are medians of several rounds. For reads each server runs in a process of its own on
// one processor and the load comes from the other, over 32 connections; what waits for
// the disk has both. Absolute values say something about the machine; the ratios
// should hold on any.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if role := os.Getenv(roleVariable); role != "" {
		if err := serveRole(ctx, role); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", role+":", err)
			os.Exit(1)
		}
		return
	}
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options say how much is measured.
type options struct {
	binary string
	rounds int
	each   time.Duration
	only   *regexp.Regexp
}

// figure is one or more lines of the report.
type figure struct {
	name    string
	measure func(ctx context.Context, o options) ([]line, error)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "bin/siteapi", "the service")
	flags.IntVar(&o.rounds, "rounds", 9, "rounds of each pair; the median is reported")
	flags.DurationVar(&o.each, "each", time.Second, "length of one measurement")
	only := flags.String("only", "", "regular expression of the figures to measure")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	figures := []figure{
		{"read-vs-nethttp", readVsNetHTTP},
		{"read-miss-vs-gqlgen", readMissVsGqlgen},
		{"rest-vs-nethttp", restVsNetHTTP},
		{"track", track},
		{"pdf-cold", pdfCold},
		{"pdf-cached-vs-nethttp", pdfCached},
		{"valkey-read-vs-memory", valkeyRead},
		{"start", start},
		{"memory", residentMemory},
	}
	_, _ = fmt.Fprintln(out, "# name ratio baseline-value value unit (goal)")
	for _, f := range figures {
		if !o.only.MatchString(f.name) {
			continue
		}
		lines, err := f.measure(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		for _, l := range lines {
			_, _ = fmt.Fprintln(out, l)
		}
	}
	return nil
}
