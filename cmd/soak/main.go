// Command soak puts minutes of mixed load on the service and watches what it holds on
// to: memory, goroutines and file descriptors have to stay as they are. It prints a
// table, and ends with an exit code other than 0 if one of them grew or a request was
// not answered as it should be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// samples is how often a run looks, and warmUp the part of them that does not count:
// caches fill, pools grow, the collector finds its pace.
const (
	samples = 40
	warmUp  = samples / 4
)

// run soaks the service and prints what came of it.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(out)
	binary := flags.String("binary", "bin/siteapi", "the service")
	length := flags.Duration("time", 5*time.Minute, "how long, at least 8s")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *length < 8*time.Second || flags.NArg() > 0 {
		return errors.New("-time must be at least 8s, and there is nothing after the flags")
	}
	if _, err := os.Stat(*binary); err != nil {
		return fmt.Errorf("the service is not built: run `make build` first: %w", err)
	}
	dir, err := os.MkdirTemp("", "siteapi-soak-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n(data and log are in %s)", err, dir)
			return
		}
		err = os.RemoveAll(dir)
	}()
	s, err := startService(ctx, *binary, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	l := newLoad(s.base)
	l.begin(ctx)
	defer l.end()
	began := time.Now()
	tick := time.NewTicker(*length / samples)
	defer tick.Stop()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "AFTER\tREQUESTS\tRESIDENT\tLIVE HEAP\tGOROUTINES\tDESCRIPTORS\t")
	var series []sample
	for len(series) < samples {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		one, err := s.look(ctx)
		if err != nil {
			return err
		}
		series = append(series, one)
		if len(series)%(samples/10) == 0 {
			_, _ = fmt.Fprintf(w, "%v\t%d\t%.1f MB\t%.1f MB\t%.0f\t%.0f\t\n", time.Since(began).Round(time.Second), l.total(),
				one[resident], one[liveHeap], one[goroutines], one[descriptors])
		}
	}
	l.end()
	return errors.Join(w.Flush(), l.report(out), report(out, series[warmUp:]))
}
