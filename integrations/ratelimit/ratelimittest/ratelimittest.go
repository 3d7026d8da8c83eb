// Package ratelimittest is the conformance suite of rate limits. It checks each promise
// of the contract against a real driver.
package ratelimittest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/ratelimit"
)

// Run runs the suite against a limiter that has counted nothing yet.
func Run(t *testing.T, l ratelimit.Limiter) {
	t.Helper()
	t.Run("a burst, then two requests together after the wait that was asked for", func(t *testing.T) {
		rule := ratelimit.Rule{Limit: 4, Period: 10 * time.Second, Burst: 3}
		for _, n := range []int{1, 2} {
			if ok, wait := l.Allow(t.Context(), "k", n, rule); !ok || wait != 0 {
				t.Errorf("%d requests: %v, %v", n, ok, wait)
			}
		}

		ok, wait := l.Allow(t.Context(), "k", 2, rule)
		if ok || wait <= 0 || wait > 5*time.Second {
			t.Fatalf("one too many: %v, %v", ok, wait)
		}
		time.Sleep(wait + 5*time.Millisecond)
		if ok, wait = l.Allow(t.Context(), "k", 2, rule); !ok {
			t.Errorf("after the wait it asked for: %v", wait)
		}
	})

	t.Run("keys are counted apart", func(t *testing.T) {
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

// CountTogether sends many requests of one key at once, through instances that count together.
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
		t.Errorf("%d served of a limit of 50", n)
	}
}
