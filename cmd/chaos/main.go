// Command chaos breaks things around the service on purpose and counts what was lost.
// Each scenario runs the real binary as its users do, prints a table of what was tried
// and what came of it, and ends with an exit code other than 0 if anything was lost,
// doubled or changed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A scenario may start this program again in another role.
	for _, role := range []func(context.Context) error{underClock, inside} {
		if err := role(ctx); !errors.Is(err, errOutside) {
			exit(err)
		}
	}
	exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// exit ends the program with what came of it.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// scenario is one way to break things. Its result goes to out, its progress to notes.
type scenario func(ctx context.Context, args []string, out, notes io.Writer) error

// scenarios lists all of them by name.
func scenarios() map[string]scenario {
	all := map[string]scenario{"leads": leads, "all": prove("all"), "fuzz": fuzz}
	for _, p := range proofs() {
		all[p.name] = prove(p.name)
	}
	return all
}

// run runs the scenario that the first argument names.
func run(ctx context.Context, args []string, out, notes io.Writer) error {
	var names []string
	for name := range scenarios() {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(args) == 0 {
		return errors.New("name a scenario: " + strings.Join(names, ", "))
	}
	s, ok := scenarios()[args[0]]
	if !ok {
		return fmt.Errorf("there is no scenario %q: name one of %s", args[0], strings.Join(names, ", "))
	}
	return s(ctx, args[1:], out, notes)
}
