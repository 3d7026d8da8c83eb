// Command chaos breaks things around the service on purpose and counts what was lost.
// Each scenario runs the real binary as its users do. The exit code is 1 if an
// acknowledged lead was lost, doubled or changed, or a promise of the scenario did not
// hold; data and logs are then kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"
)

// trial is what a scenario works with.
type trial struct {
	binary string
	dir    string // of this scenario, for data and logs
	short  bool
	soak   time.Duration
	rand   *rand.Rand
}

// times picks how often something is done.
func (t *trial) times(full, short int) int {
	if t.short {
		return short
	}
	return full
}

// errNotRun says that this machine lacks what a scenario needs.
var errNotRun = errors.New("not run")

// scenario returns a summary of what was done and what was seen.
type scenario struct {
	name string
	run  func(ctx context.Context, t *trial) (string, error)
}

func scenarios() []scenario {
	return []scenario{
		{"kills", kills}, {"disk-full", diskFull}, {"read-only", readOnly}, {"flapping", flapping},
		{"attacks", attacks}, {"overload", overload}, {"soak", soak},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.Usage = func() {
		_, _ = fmt.Fprint(flags.Output(), "chaos [flags] [scenario …]: all but soak, or those named: ")
		for _, s := range scenarios() {
			_, _ = fmt.Fprint(flags.Output(), s.name, " ")
		}
		_, _ = fmt.Fprintln(flags.Output())
		flags.PrintDefaults()
	}
	var t trial
	flags.StringVar(&t.binary, "binary", "bin/siteapi", "the service")
	flags.BoolVar(&t.short, "short", false, "seconds instead of minutes")
	flags.DurationVar(&t.soak, "soak", 5*time.Minute, "length of the soak")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "of everything random, to repeat a run")
	required := flags.Bool("required", os.Getenv("SITEAPI_TEST_SERVICES") == "required", "fail where a scenario can't be run")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, name := range flags.Args() {
		if !slices.ContainsFunc(scenarios(), func(s scenario) bool { return s.name == name }) {
			return fmt.Errorf("there is no scenario %q: see chaos -help", name)
		}
	}
	dir, err := os.MkdirTemp("", "siteapi-chaos-")
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var errs []error
	for _, s := range scenarios() {
		if flags.NArg() > 0 && !slices.Contains(flags.Args(), s.name) || flags.NArg() == 0 && s.name == "soak" || ctx.Err() != nil {
			continue
		}
		one := t
		one.dir, one.rand = filepath.Join(dir, s.name), rand.New(rand.NewPCG(*seed, 3))
		began := time.Now()
		summary, err := s.run(ctx, &one)
		result := "passed"
		if err != nil {
			result, summary = "FAILED", summary+" "+err.Error()
			if errors.Is(err, errNotRun) {
				result = "not run"
			}
			if *required || !errors.Is(err, errNotRun) {
				errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			}
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%v\t%s\n", s.name, result, time.Since(began).Round(time.Second), summary)
		_ = table.Flush()
	}
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return fmt.Errorf("%w\n(data and logs are in %s; seed %d)", err, dir, *seed)
	}
	return os.RemoveAll(dir)
}
