package ratelimit_test

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/ratelimit"
	"siteapi/integrations/ratelimit/memory"
)

// A burst may come at once; after it, requests are allowed one by one.
func ExampleLimiter() {
	rule := ratelimit.Rule{Limit: 1, Period: time.Hour, Burst: 2}
	limiter := memory.New()

	for range 3 {
		ok, retryAfter := limiter.Allow(context.Background(), "192.0.2.7", 1, rule)
		fmt.Println(ok, retryAfter.Round(time.Minute))
	}

	// Output:
	// true 0s
	// true 0s
	// false 1h0m0s
}
