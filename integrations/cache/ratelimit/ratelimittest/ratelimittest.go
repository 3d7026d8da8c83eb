// Package ratelimittest is the conformance suite of rate limits: what the contract
// promises, case by case, against a real driver.
package ratelimittest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache/ratelimit"
)

// Run runs every case against limiters of their own. open returns one that has seen
// nobody yet and is closed by whoever opened it.
func Run(t *testing.T, open func(t *testing.T) ratelimit.Limiter) {
	t.Helper()
	for name, run := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open(t))
		})
	}
}

// RunShared runs the cases of limiters that count together. open returns two of them.
func RunShared(t *testing.T, open func(t *testing.T) (a, b ratelimit.Limiter)) {
	t.Helper()
	t.Run("both count together", func(t *testing.T) {
		t.Parallel()
		a, b := open(t)
		rule := ratelimit.Rule{Limit: 50, Period: time.Hour}
		if n := together(t, rule, a, b); n != 50 {
			t.Errorf("%d served by two of a limit of 50", n)
		}
	})
}

func cases() map[string]func(*testing.T, ratelimit.Limiter) {
	return map[string]func(*testing.T, ratelimit.Limiter){
		"a burst, then one an interval": func(t *testing.T, l ratelimit.Limiter) {
			rule := ratelimit.Rule{Limit: 10, Period: 2 * time.Second, Burst: 3}
			for i := range 3 {
				if d := l.Allow(t.Context(), "k", rule); !d.OK || d.Remaining != 2-i || d.RetryAfter != 0 {
					t.Errorf("request %d: %+v", i+1, d)
				}
			}
			d := l.Allow(t.Context(), "k", rule)
			if d.OK || d.Remaining != 0 || d.RetryAfter <= 0 || d.RetryAfter > 200*time.Millisecond {
				t.Fatalf("one too many: %+v", d)
			}
			time.Sleep(d.RetryAfter + time.Millisecond)
			if d = l.Allow(t.Context(), "k", rule); !d.OK || d.Remaining != 0 {
				t.Errorf("after the wait it asked for: %+v", d)
			}
			if d = l.Allow(t.Context(), "k", rule); d.OK {
				t.Errorf("and one more: %+v", d)
			}
		},
		"keys are counted apart": func(t *testing.T, l ratelimit.Limiter) {
			rule := ratelimit.Rule{Limit: 1, Period: time.Hour}
			for _, key := range []string{"a", "b", "a:b", "{a}", "", "ș\x00\n"} {
				if d := l.Allow(t.Context(), key, rule); !d.OK {
					t.Errorf("%q: %+v", key, d)
				}
				if d := l.Allow(t.Context(), key, rule); d.OK || d.RetryAfter < 59*time.Minute {
					t.Errorf("%q again: %+v", key, d)
				}
			}
		},
		"without a limit all is served": func(t *testing.T, l ratelimit.Limiter) {
			for range 100 {
				if d := l.Allow(t.Context(), "k", ratelimit.Rule{}); !d.OK {
					t.Fatalf("%+v", d)
				}
			}
		},
		"requests at once are counted one by one": func(t *testing.T, l ratelimit.Limiter) {
			if n := together(t, ratelimit.Rule{Limit: 50, Period: time.Hour}, l); n != 50 {
				t.Errorf("%d served of a limit of 50", n)
			}
		},
		"after a quiet time the burst is back": func(t *testing.T, l ratelimit.Limiter) {
			rule := ratelimit.Rule{Limit: 100, Period: time.Second, Burst: 5}
			for range 2 {
				n := 0
				for l.Allow(t.Context(), "k", rule).OK {
					n++
				}
				if n < 5 || n > 8 { // a slow machine earns a few while it asks
					t.Errorf("%d at once, want 5", n)
				}
				time.Sleep(80 * time.Millisecond)
			}
		},
	}
}

// together sends many requests at once and returns how many were served.
func together(t *testing.T, rule ratelimit.Rule, limiters ...ratelimit.Limiter) int32 {
	t.Helper()
	var served atomic.Int32
	var wait sync.WaitGroup
	for _, l := range limiters {
		for range 20 {
			wait.Go(func() {
				for range 10 {
					if l.Allow(t.Context(), "k", rule).OK {
						served.Add(1)
					}
				}
			})
		}
	}
	wait.Wait()
	return served.Load()
}
