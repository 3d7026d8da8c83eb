package queue

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"siteapi/integrations/lead"
)

// target is the state of a target in this process. Each instance learns of a rate limit
// from its own calls.
type target struct {
	TargetConfig
	limiter     *rate.Limiter
	unavailable atomic.Bool // at the last try

	mu    sync.Mutex // guards pause
	pause targetPause
}

// targetsNote is the name of the note with the targets of the service that started last.
const targetsNote = "targets"

const (
	leftWait   = 10 * time.Second
	leftReason = "this instance has no settings for it, but the service that started last has"
)

// noteTargets notes the targets of this process, which starts.
func (q *Queue) noteTargets(ctx context.Context) error {
	var on []string
	for name, t := range q.targets {
		if !t.Off {
			on = append(on, string(name))
		}
	}
	return q.Store.SetNote(ctx, targetsNote, strings.Join(on, " "))
}

// leaveTo returns how long a delivery to a target that is off in this process waits for
// another: 0 if the service that started last does not deliver to it either. Otherwise an
// instance that has yet to restart with new settings would end it.
func (q *Queue) leaveTo(ctx context.Context, name lead.Target) time.Duration {
	if t := q.targets[name]; t == nil || !t.Off {
		return 0
	}
	note, err := q.Store.Note(ctx, targetsNote)
	if err != nil || slices.Contains(strings.Fields(note), string(name)) {
		return leftWait
	}
	return 0
}

// targetPause is a period without deliveries to a target. The zero value is over.
type targetPause struct {
	began, until time.Time
	reason       string // redacted
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

// attempts returns a number of tries that last at least three days with waits of up to
// retryMax. The number is bounded: with waits of less than a minute the tries last less
// than three days.
func attempts(retryMax time.Duration) int {
	const period, maxTries = 3 * 24 * time.Hour, 6000

	// Jitter shortens the longest wait by up to a fifth. A process that only lists
	// deliveries may have no retryMax.
	shortest := max(retryMax, time.Second) * 4 / 5
	return min(int(period/shortest)+20, maxTries)
}

// paused returns the pause of the target, which may be over.
func (t *target) paused() targetPause {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pause
}

// extend pauses the target unless it is paused for longer, and returns the pause in
// effect.
func (t *target) extend(p targetPause) targetPause {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.until.After(t.pause.until) {
		t.pause = p
	}
	return t.pause
}

// resume ends the pause after a successful delivery, if that began during the pause. The
// success of an earlier one does not mean that a limit reached since then is over.
func (t *target) resume(began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if began.After(t.pause.began) {
		t.pause = targetPause{}
	}
}
