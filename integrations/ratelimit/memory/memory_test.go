package memory_test

import (
	"fmt"
	"testing"
	"time"

	"siteapi/integrations/ratelimit"
	"siteapi/integrations/ratelimit/memory"
	"siteapi/integrations/ratelimit/ratelimittest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	l := memory.New()
	ratelimittest.Run(t, l)
	ratelimittest.CountTogether(t, l)
}

// TestFloodOfKeys checks that a flood of other clients does not evict a frequent client.
func TestFloodOfKeys(t *testing.T) {
	t.Parallel()
	l, rule, served := memory.New(), ratelimit.Rule{Limit: 10, Period: time.Hour, Burst: 10}, 0

	for i := range 150_000 {
		l.Allow(t.Context(), fmt.Sprint("once", i), 1, rule)
		if i%100 == 0 {
			if ok, _ := l.Allow(t.Context(), "often", 1, rule); ok {
				served++
			}
		}
	}

	if served > 40 {
		t.Errorf("served %d requests with a limit of 10", served)
	}
}
