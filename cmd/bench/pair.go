package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pair measures two servers in turn.
func pair(ctx context.Context, o options, baseline, subject *server, pinned bool, next func(conn, n int) []byte) (base, value []result, err error) {
	if pinned {
		undo, err := onLoadProcessor()
		if err != nil {
			return nil, nil, err
		}
		defer undo()
	}
	for _, s := range []*server{baseline, subject} { // both warm up
		if _, err := s.load(ctx, o.each, next); err != nil {
			return nil, nil, err
		}
	}
	for range o.rounds {
		b, err := baseline.load(ctx, o.each, next)
		if err != nil {
			return nil, nil, err
		}
		v, err := subject.load(ctx, o.each, next)
		if err != nil {
			return nil, nil, err
		}
		base, value = append(base, b), append(value, v)
	}
	return base, value, nil
}

// load puts a server under load and notes what it spent on it.
func (s *server) load(ctx context.Context, length time.Duration, next func(conn, n int) []byte) (result, error) {
	before, err := s.processorTime()
	if err != nil {
		return result{}, err
	}
	r, err := load(ctx, s.addr, length, next)
	if err != nil {
		return result{}, err
	}
	after, err := s.processorTime()
	if err != nil {
		return result{}, err
	}
	r.perCPU = float64(r.requests) / (after - before).Seconds()
	return r, nil
}

// processorTime is what the process has spent so far, in user and system mode.
func (s *server) processorTime() (time.Duration, error) {
	// The kernel's name for the clock of another process: see clock_getcpuclockid(3).
	const scheduled = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^s.cmd.Process.Pid)<<3|scheduled, &t); err != nil {
		return 0, fmt.Errorf("reading the processor time of a server: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// compareRates compares how many requests two servers answer: in a second, and in a
// second of their own processor time. On a machine that does nothing else both say the
// same; where others take a part of it, the second one is still true.
func compareRates(name, goal string, base, value []result) []line {
	return []line{
		compare(name, "requests/s", goal, rates(base), rates(value)),
		compare(name+"-by-cpu-time", "requests/cpu-s", "", perCPU(base), perCPU(value)),
	}
}

func perCPU(results []result) []float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = r.perCPU
	}
	return values
}

func rates(results []result) []float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = r.perSecond
	}
	return values
}

func tails(results []result) []float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = float64(r.p99) / float64(time.Millisecond)
	}
	return values
}

// same sends one request again and again.
func same(req []byte) func(int, int) []byte { return func(int, int) []byte { return req } }

func notify(ch chan<- os.Signal) { signal.Notify(ch, syscall.SIGTERM, os.Interrupt) }
