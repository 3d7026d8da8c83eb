package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"siteapi/cmd/internal/harness"
)

// Prefixes of the commands that start servers.
const (
	// alone pins the server to the first processor.
	alone = "taskset -c 0"

	// slowDisk adds a millisecond to each flush, the latency of most cloud disks, since
	// local flushes may be almost free.
	slowDisk = "strace -D -f -qq --seccomp-bpf -o /dev/null " +
		"-e trace=fsync,fdatasync -e inject=fsync,fdatasync:delay_exit=1ms"
)

// useProcessors keeps this process off the first processor, or lets it use all of them.
func useProcessors(allButFirst bool) {
	first, number := 0, runtime.NumCPU()
	if allButFirst && number > 1 {
		first, number = 1, 1
	}
	processors := fmt.Sprintf("%d-%d", first, first+number-1)

	cmd := exec.Command( //nolint:noctx // returns at once
		"taskset", "-a", "-p", "-c", processors, strconv.Itoa(os.Getpid()))
	harness.Check(cmd.Run())
	runtime.GOMAXPROCS(number)
}

// service starts the service on a data folder.
func (b *bench) service(ctx context.Context, dir string, env ...string) *harness.Service {
	s := harness.New(b.binary, dir,
		append([]string{"ADMIN_ADDR=off", "CONTENT_TYPES=heroSection"}, env...)...)
	s.Run(ctx, strings.Fields(b.prefix)...)
	b.stops = append(b.stops, func() { s.Stop(syscall.SIGTERM) })
	return s
}

// baseline starts a copy of this program as one of the baselines and returns its URL.
func (b *bench) baseline(ctx context.Context, role string) string {
	args := append(strings.Fields(b.prefix), harness.Must(os.Executable()), "serve", role, b.dir)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr

	out := harness.Must(cmd.StdoutPipe())
	harness.Check(cmd.Start())
	b.stops = append(b.stops, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	return "http://" + strings.TrimSpace(harness.Must(bufio.NewReader(out).ReadString('\n')))
}

// pair loads a baseline and the service in turn, after both are warm.
func (b *bench) pair(
	ctx context.Context, baseline, service string, next func() []byte,
) (rates, p99s [2][]float64) {
	for round := range b.rounds + 1 {
		for side, server := range []string{baseline, service} {
			if rate, p99 := load(ctx, server, b.each, next); round > 0 {
				rates[side], p99s[side] = append(rates[side], rate), append(p99s[side], p99)
			}
		}
	}
	return rates, p99s
}
