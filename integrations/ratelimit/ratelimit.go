// Package ratelimit is the contract of rate limits per client. Drivers live in the
// folders below: memory counts the requests of one instance, valkey those of all
// instances. Each passes the conformance suite in ratelimittest.
package ratelimit

import (
	"context"
	"net/netip"
	"time"
)

// Rule allows Limit requests per Period, evenly spread. After an idle time, it allows
// Burst requests at once.
type Rule struct {
	Limit  int
	Period time.Duration
	Burst  int
}

// Interval returns the time after which one more request is allowed.
func (r Rule) Interval() time.Duration { return r.Period / time.Duration(r.Limit) }

// Limiter counts requests. Allow is safe for concurrent use.
type Limiter interface {
	// Allow counts either all or none of n requests of a key under a rule. It reports
	// whether they are allowed, and returns the time to wait if they are not. While its
	// backend is unavailable, a driver counts only the requests of this instance. Callers
	// must always use a key with the same rule.
	Allow(ctx context.Context, key string, n int, rule Rule) (ok bool, retryAfter time.Duration)
}

// Network is a network that contains a client's address. Times is the multiple of a
// client's limit that applies to the network.
type Network struct {
	Name  string
	Times int
}

// Networks returns the networks of an address, narrowest first: an IPv4 address itself,
// or the /64 of an IPv6 host and the /56 and /48 that providers assign to a customer.
func Networks(address string) []Network {
	addr, err := netip.ParseAddr(address)
	if addr = addr.Unmap(); err != nil || addr.Is4() {
		return []Network{{address, 1}}
	}

	name := func(bits int) string { return netip.PrefixFrom(addr.WithZone(""), bits).Masked().String() }
	return []Network{{name(64), 1}, {name(56), 4}, {name(48), 16}}
}

// AllowClient is like Allow but counts n requests in each network of a client's address.
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

// WithinHour counts a request of a key and reports whether the key was counted at most
// limit times in the current clock hour. All of these requests may arrive at once.
func WithinHour(ctx context.Context, l Limiter, key string, limit int, now time.Time) bool {
	// The period is so long that no request is regained within the hour; the next hour
	// uses another key.
	rule := Rule{Limit: limit, Period: time.Duration(limit) * time.Hour, Burst: limit}
	ok, _ := l.Allow(ctx, now.UTC().Format("2006-01-02T15 ")+key, 1, rule)
	return ok
}
