// Package memory counts requests in the process, for the clients seen recently.
//
// Known limit: the number of keys is bounded, and an evicted key starts over. Frequent
// keys stay, however many others occur only once.
package memory

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"siteapi/integrations/ratelimit"
)

// maxKeys limits the memory use, to about 20 MiB.
const maxKeys = 100_000

// Limiter counts for one process. Create it with New.
type Limiter struct {
	keys *otter.Cache[string, *rate.Limiter]
}

// New returns a limiter that has counted no requests.
func New() *Limiter {
	return &Limiter{otter.Must(&otter.Options[string, *rate.Limiter]{MaximumSize: maxKeys})}
}

// Allow implements [ratelimit.Limiter].
func (l *Limiter) Allow(_ context.Context, key string, n int, rule ratelimit.Rule) (bool, time.Duration) {
	limiter, ok := l.keys.GetIfPresent(key)
	if !ok {
		limiter, _ = l.keys.SetIfAbsent(key, rate.NewLimiter(rate.Every(rule.Interval()), rule.Burst))
	}

	now := time.Now()
	if limiter.AllowN(now, n) {
		return true, 0
	}

	missing := float64(n) - limiter.TokensAt(now)
	return false, max(time.Duration(missing*float64(rule.Interval())), time.Millisecond)
}
