// Package ratelimit is the contract for counting requests per client. Its drivers are in
// the folders below: memory counts for one instance, valkey for all of them. Each passes
// the conformance suite in ratelimittest.
package ratelimit

import (
	"context"
	"net/netip"
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

// Network is a network around a client's address, and how many times the limit of one
// client it has.
type Network struct {
	Name  string
	Times int
}

// Networks returns the networks of an address, the narrowest first: an IPv4 address, or the
// /64 of one IPv6 host and the /56 and /48 that providers give to one customer.
func Networks(address string) []Network {
	addr, err := netip.ParseAddr(address)
	if addr = addr.Unmap(); err != nil || addr.Is4() {
		return []Network{{address, 1}}
	}

	name := func(bits int) string { return netip.PrefixFrom(addr.WithZone(""), bits).Masked().String() }
	return []Network{{name(64), 1}, {name(56), 4}, {name(48), 16}}
}

// AllowClient counts n requests in each network of a client's address.
func AllowClient(
	ctx context.Context, l Limiter, key, address string, n int, rule Rule,
) (ok bool, retryAfter time.Duration) {
	for _, network := range Networks(address) {
		wider := Rule{rule.Limit * network.Times, rule.Period, rule.Burst * network.Times}
		if ok, retryAfter = l.Allow(ctx, key+" "+network.Name, n, wider); !ok {
			return false, retryAfter
		}
	}
	return true, 0
}

// WithinHour counts a key and reports whether it was counted at most limit times in this
// hour of the clock, all of which may come at once.
func WithinHour(ctx context.Context, l Limiter, key string, limit int, now time.Time) bool {
	// No count comes back within the hour, and afterwards the key is another one.
	rule := Rule{Limit: limit, Period: time.Duration(limit) * time.Hour, Burst: limit}
	ok, _ := l.Allow(ctx, now.UTC().Format("2006-01-02T15 ")+key, 1, rule)
	return ok
}
