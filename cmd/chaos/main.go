// Command chaos breaks systems around the service and counts losses. Each scenario runs the
// real binary. The exit code is 1 if an acknowledged lead was lost, duplicated or changed, or
// if a limit of the scenario was exceeded. Data and logs are then kept.
//
//	chaos [flags] [kills] [disk-full] [flapping] [attacks] [overload] [freshness] [readers]
//
// It runs the given scenarios, or all without arguments.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"siteapi/cmd/internal/harness"
)

// trial is the environment of a scenario.
type trial struct {
	binary string
	dir    string // data and logs of this scenario
	short  bool
}

// times returns the number of repetitions, which depends on -short.
func (t *trial) times(full, short int) int {
	if t.short {
		return short
	}
	return full
}

// errNotRun is the error of a scenario whose requirements this machine does not meet.
var errNotRun = errors.New("not run")

// needs skips the scenario if err reports a missing requirement.
func needs(err error) {
	if err != nil {
		harness.Failf("%w: %w", errNotRun, err)
	}
}

func main() { harness.Main("chaos", run) }

func run(ctx context.Context) {
	// A scenario returns a summary of its results. It fails through harness.Check.
	scenarios := map[string]func(ctx context.Context, t *trial) string{
		"kills":     kills,
		"disk-full": diskFull,
		"flapping":  flapping,
		"attacks":   attacks,
		"overload":  overload,
		"freshness": freshness,
		"readers":   readers,
	}

	var t trial
	flag.StringVar(&t.binary, "binary", "bin/siteapi", "the service")
	flag.BoolVar(&t.short, "short", false, "run for seconds instead of minutes")
	flag.Parse()

	names := flag.Args()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(scenarios))
	}

	dir := harness.Must(os.MkdirTemp("", "siteapi-chaos-"))
	var failed []string
	for _, name := range names {
		scenario := scenarios[name]
		if scenario == nil {
			harness.Failf("there is no scenario %q", name)
		}

		t.dir = filepath.Join(dir, name)

		began, summary := time.Now(), ""
		err := harness.Run(func() { summary = "passed: " + scenario(ctx, &t) })
		switch {
		case errors.Is(err, errNotRun) && os.Getenv("SITEAPI_TEST_SERVICES") != "required":
			summary = "skipped: " + err.Error()
		case err != nil:
			summary = "FAILED: " + err.Error()
			failed = append(failed, name)
		}

		fmt.Printf("%-9s  %v  %s\n", name, time.Since(began).Round(time.Second), summary)
		harness.Check(ctx.Err())
	}
	if failed != nil {
		harness.Failf("%v failed: data and logs are in %s", failed, dir)
	}
	harness.Check(os.RemoveAll(dir))
}
