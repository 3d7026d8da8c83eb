package harness

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// failure carries the error of [Check] to [Run].
type failure struct{ error }

// Check ends the function of [Run] if err is not nil. It must be called in the goroutine
// of Run.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Failf ends the function of [Run] with an error.
func Failf(format string, args ...any) { Check(fmt.Errorf(format, args...)) }

// Must returns value if err is nil, and otherwise calls [Check].
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Run calls f and returns the error of [Check] that ended it, if any.
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

// Main is the main function of a tool. An interrupt cancels the context of run.
func Main(tool string, run func(ctx context.Context)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Run(func() { run(ctx) })
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", tool, err)
		os.Exit(1)
	}
}
