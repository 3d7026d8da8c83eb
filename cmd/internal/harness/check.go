package harness

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// failure carries the error with which Check ends a run.
type failure struct{ error }

// Check ends the function that [Run] called, unless err is nil. It must be called from
// the goroutine of Run.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Failf ends the run with an error, as [Check] does.
func Failf(format string, args ...any) { Check(fmt.Errorf(format, args...)) }

// Must returns a value, or ends the run as [Check] does.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Run calls f and returns the error that ended it, if any.
func Run(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = failed.error
		}
	}()

	f()
	return nil
}

// Main is the main function of a tool, which runs until it is done or interrupted.
func Main(tool string, run func(ctx context.Context)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Run(func() { run(ctx) })
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", tool, err)
		os.Exit(1)
	}
}
