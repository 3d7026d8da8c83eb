// Package memory counts the requests of recent clients in the process.
//
// Known limit: the number of keys is bounded, and the count of an evicted key starts
// over. Frequent keys are not evicted, regardless of the number of keys that occur only
// once.
package memory

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"siteapi/integrations/ratelimit"
)

// maxKeys limits the memory use to about 20 MiB.
const maxKeys = 100_000

// Limiter counts the requests of one process. Create it with New.
type Limiter struct {
	keys *otter.Cache[string, *rate.Limiter]
}

// New returns a limiter without counted requests.
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
