package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"siteapi/integrations/cache/ratelimit"
	"siteapi/integrations/cache/ratelimit/memory"
	"siteapi/integrations/cache/ratelimit/ratelimittest"
)

func open(t testing.TB, o memory.Options) *memory.Limiter {
	t.Helper()
	l, err := memory.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestConformance(t *testing.T) {
	t.Parallel()
	ratelimittest.Run(t, func(t *testing.T) ratelimit.Limiter { return open(t, memory.Options{}) })
}

// A client who keeps coming is not forgotten because of a flood of others.
func TestFloodOfKeys(t *testing.T) {
	t.Parallel()
	l := open(t, memory.Options{MaxKeys: 1000})
	rule := ratelimit.Rule{Limit: 10, Period: time.Hour}
	served := 0
	for i := range 100_000 {
		l.Allow(t.Context(), fmt.Sprint("once", i), rule)
		if i%10 == 0 && l.Allow(t.Context(), "often", rule).OK {
			served++
		}
	}
	if served > 40 {
		t.Errorf("served %d times of a limit of 10", served)
	}
}

func BenchmarkAllow(b *testing.B) {
	l, rule, ctx := open(b, memory.Options{}), ratelimit.Rule{Limit: 1000, Period: time.Second}, context.Background()
	b.ReportAllocs()
	for b.Loop() {
		l.Allow(ctx, "192.0.2.1 /api/quote/track", rule)
	}
}
