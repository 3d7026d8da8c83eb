package queue

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// target is a target's state in this process. Each instance learns of a rate limit by its own calls.
type target struct {
	TargetConfig
	limiter *rate.Limiter

	mu       sync.Mutex
	pausedAt time.Time
	until    time.Time // zero: it is not paused
	reason   string    // redacted
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

// pause stops deliveries to the target until a time, unless it is paused for longer already.
// It reports whether the target was not paused before.
func (t *target) pause(now, until time.Time, reason string) (begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	begun = !t.until.After(now)
	if until.After(t.until) {
		t.pausedAt, t.until, t.reason = now, until, reason
	}
	return begun
}

// paused returns how long the target is paused still, and why.
func (t *target) paused(now time.Time) (left time.Duration, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until.Sub(now), t.reason
}

// resume ends a pause after a delivery that began during it.
func (t *target) resume(began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pausedAt.Before(began) {
		t.until = time.Time{}
	}
}
