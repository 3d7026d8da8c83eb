package main

import (
	"context"
	"os"
	"strconv"
)

// sessions is how many different visitors are tracked.
const sessions = 2000

// track compares durable tracking with a bare handler over a hand-written group commit
// and with one transaction per request. Waiting for the disk takes a processor of its
// own, so all have both.
func track(ctx context.Context, o options) ([]line, error) {
	dir, err := os.MkdirTemp("", "siteapi-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	service, err := startService(ctx, o, dir, false)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	requests := make([][]byte, sessions)
	for i := range requests {
		requests[i] = trackRequest("bench-" + strconv.Itoa(i*7919%1_000_003))
	}
	next := func(conn, n int) []byte { return requests[(conn*sessions/connections+n)%sessions] }
	var lines []line
	for _, m := range []struct{ role, name, goal string }{
		{"bare-track", "track-vs-bare", "≥ 0.75"}, {"single-track", "track-vs-single", "≥ 4.0"},
	} {
		baseline, err := startRole(ctx, m.role, false, pathVariable+"="+dir)
		if err != nil {
			return nil, err
		}
		base, value, err := pair(ctx, o, baseline, service, false, next)
		baseline.stop()
		if err != nil {
			return nil, err
		}
		lines = append(lines, compareRates(m.name, m.goal, base, value)...)
		if m.role == "bare-track" {
			lines = append(lines, compare("track-p99-vs-bare", "ms", "≤ 2.0", tails(base), tails(value)))
		}
	}
	return lines, nil
}
