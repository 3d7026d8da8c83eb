package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// trial is what a scenario needs to be carried out.
type trial struct {
	binary   string // the service
	dir      string // of the scenario's own, for data and logs
	short    bool   // a run of seconds, to see that the scenario works
	kills    int    // of the scenario kills
	required bool   // a scenario that can't be carried out here is a failure
	rand     *rand.Rand
	notes    io.Writer
}

// times picks how often something is done.
func (t *trial) times(whole, short int) int {
	if t.short {
		return short
	}
	return whole
}

// between returns a random duration.
func (t *trial) between(low, high time.Duration) time.Duration {
	return low + time.Duration(t.rand.Int64N(int64(high-low)+1))
}

func (t *trial) progress(format string, args ...any) {
	_, _ = fmt.Fprintf(t.notes, format+"\n", args...)
}

// proof carries one scenario out. Its error means that something did not hold which
// is more than lost submissions, or that the scenario itself broke.
type proof func(ctx context.Context, t *trial) (outcome, error)

// proofs lists them in the order in which `all` carries them out.
func proofs() []struct {
	name string
	run  proof
} {
	return []struct {
		name string
		run  proof
	}{
		{"kills", kills}, {"disk-full", diskFull}, {"read-only", readOnly}, {"clock", clock}, {"flapping", flapping}, {"overload", overload},
	}
}

// prove is the scenario of one proof, or of all with the name "all".
func prove(name string) scenario {
	return func(ctx context.Context, args []string, out, notes io.Writer) error {
		flags := flag.NewFlagSet("chaos "+name, flag.ContinueOnError)
		flags.SetOutput(notes)
		t := trial{notes: notes}
		flags.StringVar(&t.binary, "binary", "bin/siteapi", "the service")
		flags.BoolVar(&t.short, "short", false, "a run of seconds")
		flags.IntVar(&t.kills, "kills", 0, "how often the process is killed; 0: 100, or 6 in a short run")
		flags.BoolVar(&t.required, "required", os.Getenv("SITEAPI_TEST_SERVICES") == "required", "fail where a scenario can't be carried out")
		seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "of everything random")
		dir := flags.String("dir", "", "folder for data and logs; left out: one below the temporary folder, removed after a success")
		skip := flags.String("skip", "", "scenarios that all leaves out, comma-separated")
		if err := flags.Parse(args); err != nil {
			return err
		}
		if t.kills < 0 || flags.NArg() > 0 {
			return errors.New("-kills must be at least 0, and there is nothing after the flags")
		}
		if t.kills == 0 {
			t.kills = t.times(100, 6)
		}
		if _, err := os.Stat(t.binary); err != nil {
			return fmt.Errorf("the service is not built: run `make build` first: %w", err)
		}
		keep := *dir != ""
		if !keep {
			var err error
			if *dir, err = os.MkdirTemp("", "siteapi-chaos-"); err != nil {
				return err
			}
		}
		left := strings.Split(*skip, ",")
		var results []result
		for _, p := range proofs() {
			if name != "all" && name != p.name || name == "all" && slices.Contains(left, p.name) {
				continue
			}
			if ctx.Err() != nil {
				break
			}
			one := t
			one.dir, one.rand = filepath.Join(*dir, p.name), rand.New(rand.NewPCG(*seed, 3))
			if err := os.MkdirAll(one.dir, 0o750); err != nil {
				return err
			}
			t.progress("%s …", p.name)
			began := time.Now()
			r := result{name: p.name}
			r.outcome, r.err = p.run(ctx, &one)
			r.took = time.Since(began)
			results = append(results, r)
		}
		err := errors.Join(printTable(out, results), judge(results, t.required), ctx.Err())
		switch {
		case err != nil:
			return fmt.Errorf("%w\n(data and logs are in %s; seed %d)", err, *dir, *seed)
		case !keep:
			return os.RemoveAll(*dir)
		}
		return nil
	}
}
