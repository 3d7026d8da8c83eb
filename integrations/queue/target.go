package queue

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// target is the state of a target in this process. Each instance learns of a rate limit
// from its own calls.
type target struct {
	TargetConfig
	limiter *rate.Limiter

	mu       sync.Mutex
	pausedAt time.Time
	until    time.Time // zero if it is not paused
	reason   string    // redacted

	away atomic.Bool // it was unavailable at the last try
}

func newTarget(c TargetConfig) *target {
	t := &target{TargetConfig: c, limiter: rate.NewLimiter(rate.Inf, 1)}
	if c.PerSecond > 0 {
		t.limiter = rate.NewLimiter(rate.Limit(c.PerSecond), max(1, int(c.PerSecond/4)))
		// More workers than the rate can keep busy would only wait.
		t.MaxWorkers = max(1, min(c.MaxWorkers, int(c.PerSecond*5)))
	}
	return t
}

// attempts returns a number of tries that takes at least three days with pauses of up to
// retryMax. The number is bounded: with pauses of less than a minute the tries take less
// than three days.
func attempts(retryMax time.Duration) int {
	const period, most = 3 * 24 * time.Hour, 6000

	// The shortest that the longest pause can be after its jitter. A process that only
	// lists may have no retryMax.
	shortest := max(retryMax, time.Second) * 4 / 5
	return min(int(period/shortest)+20, most)
}

// pause stops deliveries to the target until a time, unless it is already paused for
// longer. It reports whether the target was not paused before.
func (t *target) pause(now, until time.Time, reason string) (begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()

	begun = !t.until.After(now)
	if until.After(t.until) {
		t.pausedAt, t.until, t.reason = now, until, reason
	}
	return begun
}

// paused returns how much longer the target is paused, and why.
func (t *target) paused(now time.Time) (left time.Duration, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()

	return t.until.Sub(now), t.reason
}

// resume ends a pause after a successful delivery that began during it.
func (t *target) resume(began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if t.pausedAt.Before(began) {
		t.until = time.Time{}
	}
}
