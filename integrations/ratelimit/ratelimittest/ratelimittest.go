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

// Run runs every case against limiters returned by open, which have counted nothing yet.
func Run(t *testing.T, open func(t *testing.T) ratelimit.Limiter) {
	t.Helper()
	for name, run := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open(t))
		})
	}
}

func cases() map[string]func(*testing.T, ratelimit.Limiter) {
	return map[string]func(*testing.T, ratelimit.Limiter){
		"a burst, then two requests together after the wait that was asked for": func(
			t *testing.T, l ratelimit.Limiter,
		) {
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
		},

		"keys are counted apart": func(t *testing.T, l ratelimit.Limiter) {
			rule := ratelimit.Rule{Limit: 1, Period: time.Hour, Burst: 1}
			for _, key := range []string{"a", "a:b", "ș\x00\n"} {
				if ok, _ := l.Allow(t.Context(), key, 1, rule); !ok {
					t.Errorf("%q was refused", key)
				}
				if ok, wait := l.Allow(t.Context(), key, 1, rule); ok || wait < 59*time.Minute {
					t.Errorf("%q again: %v, %v", key, ok, wait)
				}
			}
		},

		"requests at once are counted one by one": func(t *testing.T, l ratelimit.Limiter) {
			if n := Together(t, ratelimit.Rule{Limit: 50, Period: time.Hour, Burst: 50}, l); n != 50 {
				t.Errorf("%d served of a limit of 50", n)
			}
		},
	}
}

// Together sends many requests of one key at once and returns how many were served.
func Together(t *testing.T, rule ratelimit.Rule, limiters ...ratelimit.Limiter) int32 {
	t.Helper()
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
	return served.Load()
}
