// Package ratelimittest is the conformance suite of rate limits. It checks the guarantees
// of the contract against a real driver.
package ratelimittest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/ratelimit"
)

// Run runs the suite against a new limiter.
func Run(t *testing.T, l ratelimit.Limiter) {
	t.Helper()
	t.Run("a burst, then two requests at once after the returned wait", func(t *testing.T) {
		rule := ratelimit.Rule{Limit: 4, Period: 10 * time.Second, Burst: 3}
		for _, n := range []int{1, 2} {
			if ok, wait := l.Allow(t.Context(), "k", n, rule); !ok || wait != 0 {
				t.Errorf("%d requests: %v, %v", n, ok, wait)
			}
		}

		ok, wait := l.Allow(t.Context(), "k", 2, rule)
		if ok || wait <= 0 || wait > 5*time.Second {
			t.Fatalf("beyond the burst: %v, %v", ok, wait)
		}
		time.Sleep(wait + 5*time.Millisecond)
		if ok, wait = l.Allow(t.Context(), "k", 2, rule); !ok {
			t.Errorf("after the returned wait: %v", wait)
		}
	})

	t.Run("keys are counted separately", func(t *testing.T) {
		rule := ratelimit.Rule{Limit: 1, Period: time.Hour, Burst: 1}
		for _, key := range []string{"a", "a:b", "ș\x00\n"} {
			if ok, _ := l.Allow(t.Context(), key, 1, rule); !ok {
				t.Errorf("%q was refused", key)
			}
			if ok, wait := l.Allow(t.Context(), key, 1, rule); ok || wait < 59*time.Minute {
				t.Errorf("%q again: %v, %v", key, ok, wait)
			}
		}
	})
}

// CountTogether sends many concurrent requests of one key through instances that share
// their counts.
func CountTogether(t *testing.T, limiters ...ratelimit.Limiter) {
	t.Helper()
	rule := ratelimit.Rule{Limit: 50, Period: time.Hour, Burst: 50}
	var served atomic.Int32
	var wait sync.WaitGroup
	for _, l := range limiters {
		for range 200 {
			wait.Go(func() {
				if ok, _ := l.Allow(t.Context(), "together", 1, rule); ok {
					served.Add(1)
				}
			})
		}
	}
	wait.Wait()
	if n := served.Load(); n != 50 {
		t.Errorf("%d requests served with a limit of 50", n)
	}
}
