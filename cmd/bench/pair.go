package main

import (
	"context"
	"os/signal"
	"syscall"
	"time"

	"os"
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
		if _, err := load(ctx, s.addr, o.each, next); err != nil {
			return nil, nil, err
		}
	}
	for range o.rounds {
		b, err := load(ctx, baseline.addr, o.each, next)
		if err != nil {
			return nil, nil, err
		}
		v, err := load(ctx, subject.addr, o.each, next)
		if err != nil {
			return nil, nil, err
		}
		base, value = append(base, b), append(value, v)
	}
	return base, value, nil
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
