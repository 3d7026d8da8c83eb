// Package ratelimit is the contract for counting requests per client. Its drivers are in
// the folders below: memory counts for one instance, valkey for all of them. Each passes
// the conformance suite in ratelimittest.
package ratelimit

import (
	"context"
	"time"
)

// Rule allows Limit requests per Period, evenly spread. After a quiet time, Burst of them
// may come at once.
type Rule struct {
	Limit  int
	Period time.Duration
	Burst  int
}

// Interval is the time after which one more request is allowed.
func (r Rule) Interval() time.Duration { return r.Period / time.Duration(r.Limit) }

// Limiter counts requests. Allow is safe for concurrent use.
type Limiter interface {
	// Allow counts n requests of a key under a rule, either all or none. It reports
	// whether to serve them, and otherwise how long to wait. While its backend is away, a
	// driver counts for this instance only. A key is always used with the same rule.
	Allow(ctx context.Context, key string, n int, rule Rule) (ok bool, retryAfter time.Duration)
}
