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
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
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

// scenario returns a summary of what was done and what was seen. It fails through harness.Check.
type scenario struct {
	name string
	run  func(ctx context.Context, t *trial) string
}

func scenarios() []scenario {
	return []scenario{
		{"kills", kills}, {"disk-full", diskFull}, {"read-only", readOnly}, {"flapping", flapping},
		{"attacks", attacks}, {"overload", overload}, {"soak", soak},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "chaos [flags] [scenario …]: all but soak, or those named:",
			"kills disk-full read-only flapping attacks overload soak")
		flag.PrintDefaults()
	}
	var t trial
	flag.StringVar(&t.binary, "binary", "bin/siteapi", "the service")
	flag.BoolVar(&t.short, "short", false, "seconds instead of minutes")
	flag.DurationVar(&t.soak, "soak", 5*time.Minute, "length of the soak")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of everything random, to repeat a run")
	required := flag.Bool("required", os.Getenv("SITEAPI_TEST_SERVICES") == "required", "fail where a scenario can't be run")
	flag.Parse()
	for _, name := range flag.Args() {
		if !slices.ContainsFunc(scenarios(), func(s scenario) bool { return s.name == name }) {
			return fmt.Errorf("there is no scenario %q: see chaos -help", name)
		}
	}
	dir, err := os.MkdirTemp("", "siteapi-chaos-")
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range scenarios() {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), s.name) || flag.NArg() == 0 && s.name == "soak" || ctx.Err() != nil {
			continue
		}
		one := t
		one.dir, one.rand = filepath.Join(dir, s.name), rand.New(rand.NewPCG(*seed, 3))
		began := time.Now()
		var summary string
		err := harness.Run(func() { summary = s.run(ctx, &one) })
		result := "passed"
		if err != nil {
			result, summary = "FAILED", err.Error()
			if errors.Is(err, errNotRun) {
				result = "not run"
			}
			if *required || !errors.Is(err, errNotRun) {
				errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			}
		}
		fmt.Printf("%-9s  %s  %v  %s\n", s.name, result, time.Since(began).Round(time.Second), summary)
	}
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return fmt.Errorf("%w\n(data and logs are in %s; seed %d)", err, dir, *seed)
	}
	return os.RemoveAll(dir)
}
