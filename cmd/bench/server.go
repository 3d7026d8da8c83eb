package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"siteapi/cmd/internal/harness"
)

// roleVariable tells a copy of this program which baseline it serves.
const roleVariable = "SITEAPI_BENCH_ROLE"

// How a server is started: the command in front of its own.
const (
	plain = ""
	// alone has the first processor for itself.
	alone = "taskset -c 0"
	// slowDisk adds a millisecond to each flush, which is what the disks of most clouds take.
	// That of the machine at hand may take next to nothing.
	slowDisk = "strace -D -f -qq --seccomp-bpf -o /dev/null -e trace=fsync,fdatasync -e inject=fsync,fdatasync:delay_exit=1ms"
)

// service starts the service on a data folder below dir and returns its address.
func (b *bench) service(ctx context.Context, dir, how string, env ...string) string {
	s := harness.New(b.binary, dir, append([]string{"ADMIN_ADDR=off", "CONTENT_TYPES=heroSection"}, env...)...)
	b.stops = append(b.stops, func() { s.Stop(syscall.SIGTERM) })
	s.Run(ctx, strings.Fields(how)...)
	return s.Base[len("http://"):]
}

// baseline starts a copy of this program as one of the baselines, which works with a file or
// folder, and returns its address.
func (b *bench) baseline(ctx context.Context, role, how, path string) string {
	args := append(strings.Fields(how), harness.Must(os.Executable()))
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Stderr = append(os.Environ(), pathVariable+"="+path, roleVariable+"="+role), os.Stderr
	out := harness.Must(cmd.StdoutPipe())
	harness.Check(cmd.Start())
	b.stops = append(b.stops, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		harness.Check(fmt.Errorf("the baseline %s did not start", role))
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return lines.Text()
}

// pair measures two servers in turn, after both are warm.
func (b *bench) pair(ctx context.Context, baseline, subject string, onOne bool, next func(conn, n int) []byte) (base, value []result) {
	if onOne {
		defer useSecondProcessor()()
	}
	for round := range b.rounds + 1 {
		one, other := load(ctx, baseline, b.each, next), load(ctx, subject, b.each, next)
		if round > 0 {
			base, value = append(base, one), append(value, other)
		}
	}
	return base, value
}

// useSecondProcessor keeps this process off the servers' processor until the returned
// function is called.
func useSecondProcessor() (restore func()) {
	n := runtime.NumCPU()
	if n < 2 {
		return func() {}
	}
	pin := func(processors string) {
		harness.Must(exec.Command("taskset", "-a", "-p", "-c", processors, strconv.Itoa(os.Getpid())).Output()) //nolint:noctx // returns at once
	}
	procs := runtime.GOMAXPROCS(1)
	pin("1")
	return func() {
		pin("0-" + strconv.Itoa(n-1))
		runtime.GOMAXPROCS(procs)
	}
}

// compareRates compares how many requests two servers answer in a second.
func compareRates(name, goal string, base, value []result) []line {
	perSecond := func(r result) float64 { return r.perSecond }
	return []line{compare(name, "requests/s", goal, each(base, perSecond), each(value, perSecond))}
}

func each(results []result, of func(result) float64) []float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = of(r)
	}
	return values
}
