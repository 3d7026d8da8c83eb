package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"

	"siteapi/cmd/internal/harness"
)

// service starts the service on a data folder.
func (b *bench) service(ctx context.Context, dir string, env ...string) *harness.Service {
	s := harness.New(b.binary, dir,
		append([]string{"ADMIN_ADDR=off", "CONTENT_TYPES=heroSection", b.limit()}, env...)...)
	s.Run(ctx)
	b.pids[s.Base] = s.Pid()
	b.stops = append(b.stops, func() { s.Stop(syscall.SIGTERM) })
	return s
}

// baseline starts this program as a baseline and returns its URL.
func (b *bench) baseline(ctx context.Context, role string) string {
	cmd := exec.CommandContext(ctx, harness.Must(os.Executable()), "serve", role, b.dir)
	cmd.Env = append(os.Environ(), b.limit())
	cmd.Stderr = os.Stderr

	out := harness.Must(cmd.StdoutPipe())
	harness.Check(cmd.Start())
	b.stops = append(b.stops, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	base := "http://" + strings.TrimSpace(harness.Must(bufio.NewReader(out).ReadString('\n')))
	b.pids[base] = cmd.Process.Pid
	return base
}

// limit returns the environment variable that limits the processors of a server.
func (b *bench) limit() string { return fmt.Sprint("GOMAXPROCS=", b.processors) }

// processorTime returns the processor time of a server in µs. The kernel counts it in
// hundredths of a second.
func (b *bench) processorTime(base string) float64 {
	return 1e6 * harness.Must(harness.Must(procfs.NewProc(b.pids[base])).Stat()).CPUTime()
}

// result holds the measurements of a pair, by side and round.
type result struct {
	rates [2][]float64 // requests per second
	p99s  [2][]float64 // ms
	costs [2][]float64 // processor time per request in µs
}

// report prints the rate of a pair and the processor time per request.
func (r *result) report(name, goal string) {
	report(name, "requests/s", goal, r.rates)
	report(name+"-processor", "µs/request", "the rate's, inverted", r.costs)
}

// pair loads a baseline and the service in turn, after a warm-up of each.
func (b *bench) pair(ctx context.Context, baseline, service string, next func() []byte) *result {
	r := &result{}
	for round := range b.rounds + 1 {
		for side, server := range []string{baseline, service} {
			before := b.processorTime(server)
			rate, p99 := load(ctx, server, b.each, next)
			cost := (b.processorTime(server) - before) / (rate * b.each.Seconds())

			if round > 0 {
				r.rates[side] = append(r.rates[side], rate)
				r.p99s[side] = append(r.p99s[side], p99)
				r.costs[side] = append(r.costs[side], cost)
			}
		}
	}
	return r
}
