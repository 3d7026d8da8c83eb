// Package memory counts requests in the process, for the keys seen of late.
//
// Known limit: the number of keys is bounded, and a key that is forgotten for want of
// room begins anew. Keys that come often are kept, however many others come once.
package memory

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"siteapi/integrations/cache/ratelimit"
)

// Options of the limiter. Zero fields have the stated defaults.
type Options struct {
	MaxKeys int              // keys remembered; 100,000, about 15 MiB
	Clock   func() time.Time // for tests; the monotonic clock
}

// Limiter counts for one process. Create it with New.
type Limiter struct {
	paid *otter.Cache[string, *atomic.Int64] // time of the limiter until which a key is paid for
	now  func() time.Duration
}

var _ ratelimit.Limiter = (*Limiter)(nil)

// New returns a limiter that has seen nobody yet.
func New(o Options) (*Limiter, error) {
	if o.MaxKeys <= 0 {
		o.MaxKeys = 100_000
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	paid, err := otter.New(&otter.Options[string, *atomic.Int64]{MaximumSize: o.MaxKeys})
	if err != nil {
		return nil, fmt.Errorf("making room for the rate limits: %w", err)
	}
	begin := o.Clock()
	return &Limiter{paid: paid, now: func() time.Duration { return o.Clock().Sub(begin) }}, nil
}

// Allow implements [ratelimit.Limiter].
func (l *Limiter) Allow(_ context.Context, key string, rule ratelimit.Rule) ratelimit.Decision {
	if rule.Unlimited() {
		return ratelimit.Decision{OK: true, Remaining: math.MaxInt}
	}
	paid, ok := l.paid.GetIfPresent(key)
	if !ok {
		paid, _ = l.paid.SetIfAbsent(key, new(atomic.Int64))
	}
	for now := l.now(); ; {
		before := paid.Load()
		decision, after := rule.Decide(now, time.Duration(before))
		if !decision.OK || paid.CompareAndSwap(before, int64(after)) {
			return decision
		}
	}
}

// Close implements [ratelimit.Limiter].
func (l *Limiter) Close() error {
	l.paid.StopAllGoroutines()
	return nil
}
