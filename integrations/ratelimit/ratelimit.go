// Package ratelimit is the contract for counting requests per client. Drivers live
// in the folders below: memory counts for one instance, valkey for all of them. Each
// passes the conformance suite in ratelimittest.
package ratelimit

import (
	"context"
	"time"
)

// Rule is how much is allowed: Limit requests per Period, evenly spread, of which Burst
// may come at once after a quiet time.
type Rule struct {
	Limit  int
	Period time.Duration
	Burst  int
}

// Interval is the time that earns one request.
func (r Rule) Interval() time.Duration { return r.Period / time.Duration(r.Limit) }

// Limiter counts requests. Allow may be called concurrently.
type Limiter interface {
	// Allow counts n requests of key under rule, all or none, and says whether to serve them, and
	// if not how long to wait. A driver whose backend is away counts for this instance. A key is
	// used with one rule only.
	Allow(ctx context.Context, key string, n int, rule Rule) (ok bool, retryAfter time.Duration)
}
