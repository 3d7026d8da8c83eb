// Package ratelimit is the contract with what counts requests per client. Drivers
// live in the folders below: memory counts for one instance, valkey for all of them.
// Each passes the conformance suite in ratelimittest.
//
// All use the generic cell rate algorithm: each key has a time until which its
// requests are paid for, every request moves that time on by one interval, and a
// request is refused that would move it further ahead than the burst allows. That is
// one number a key, no windows, and no jump at their edges.
package ratelimit

import (
	"context"
	"math"
	"time"
)

// Rule is how much is allowed.
type Rule struct {
	// Limit is the number of requests allowed per Period, evenly spread. 0 or less: any.
	Limit  int
	Period time.Duration
	// Burst is how many may come at once after a quiet time. 0 or less: Limit.
	Burst int
}

// Unlimited reports whether the rule refuses nothing.
func (r Rule) Unlimited() bool { return r.Limit <= 0 || r.Period <= 0 }

// Interval is the time that pays for one request, at least a microsecond.
func (r Rule) Interval() time.Duration {
	return max(r.Period/time.Duration(max(r.Limit, 1)), time.Microsecond)
}

// Tolerance is how far ahead requests may be paid for.
func (r Rule) Tolerance() time.Duration {
	burst := r.Burst
	if burst <= 0 {
		burst = r.Limit
	}
	return r.Interval() * time.Duration(burst)
}

// Decision is the answer to one request.
type Decision struct {
	// OK says that the request may be served.
	OK bool
	// RetryAfter is how long to wait before the next try; 0 where OK.
	RetryAfter time.Duration
	// Remaining is how many more requests would be served now.
	Remaining int
}

// Decide applies a rule to a request that comes at now, for a key that is paid for
// until paid, and returns until when it is paid for after it. Both are times of one
// clock, whichever.
func (r Rule) Decide(now, paid time.Duration) (Decision, time.Duration) {
	if r.Unlimited() {
		return Decision{OK: true, Remaining: math.MaxInt}, paid
	}
	next := max(paid, now) + r.Interval()
	ahead := next - now
	if ahead > r.Tolerance() {
		return Decision{RetryAfter: ahead - r.Tolerance()}, paid
	}
	return Decision{OK: true, Remaining: int((r.Tolerance() - ahead) / r.Interval())}, next
}

// Limiter counts requests. All methods may be called concurrently.
type Limiter interface {
	// Allow counts one request of key under rule and says whether to serve it. A request
	// that is refused isn't counted. It never fails: a driver whose backend is away counts
	// for itself. A key should be used with one rule only.
	Allow(ctx context.Context, key string, rule Rule) Decision
	// Close frees what the limiter holds.
	Close() error
}
