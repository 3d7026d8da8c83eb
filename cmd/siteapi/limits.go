package main

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/ratelimit"
	limitmemory "siteapi/integrations/ratelimit/memory"
	limitvalkey "siteapi/integrations/ratelimit/valkey"
	"siteapi/integrations/valkeyconn"
	"siteapi/schema"
)

// limits bounds how often one client may use a route.
type limits struct {
	shared ratelimit.Limiter         // counts for all instances on one Valkey
	local  ratelimit.Limiter         // counts for this one
	rules  map[string]ratelimit.Rule // by method and path, counted by shared
	reads  map[string]ratelimit.Rule // counted by local: asking a server would cost more than answering
	other  ratelimit.Rule            // of everything else, counted by local
}

// newLimits returns the limits, counted at the server of the cache if there is one, so
// that several instances count together. Without RATE_LIMITS there are none.
func newLimits(s *config.Settings, conn *valkeyconn.Conn) *limits {
	if !s.RateLimits {
		return nil
	}
	l := &limits{
		rules: map[string]ratelimit.Rule{
			"POST /api/quote/track":      {Limit: 10, Period: time.Second, Burst: 40},
			"POST /api/quote/submit":     {Limit: 20, Period: time.Minute, Burst: 10},
			"GET /api/quote/pdf":         {Limit: 60, Period: time.Minute, Burst: 20},
			"POST /api/cache/clear":      {Limit: 60, Period: time.Minute, Burst: 30},
			"POST /api/cache/invalidate": {Limit: 60, Period: time.Minute, Burst: 30},
			"POST /api/webhooks/cms":     {Limit: 25, Period: time.Second, Burst: 100},
		},
		reads: map[string]ratelimit.Rule{
			"POST /graphql": {Limit: 50, Period: time.Second, Burst: 200},
		},
		other: ratelimit.Rule{Limit: 50, Period: time.Second, Burst: 200},
	}
	l.local = limitmemory.New()
	l.shared = l.local
	if conn != nil {
		l.shared = limitvalkey.New(conn, s.CachePrefix)
	}
	return l
}

// check returns RATE_LIMITED where a client has used a route too often. Whoever watches
// over the process is never limited.
func (l *limits) check(r *http.Request, c *schema.Caller) *schema.Error {
	path := r.URL.Path
	if path == "/healthz" || path == "/readyz" {
		return nil
	}
	method := r.Method
	if method == http.MethodHead { // it costs what GET costs
		method = http.MethodGet
	}
	route := method + " " + path
	limiter := l.shared
	rule, known := l.rules[route]
	if !known {
		limiter = l.local
		if rule, known = l.reads[route]; !known {
			// One counter for all paths: whoever makes paths up gains nothing.
			rule, route = l.other, "other"
		}
	} else {
		c.Charged = true
	}
	return refusal(limiter.Allow(r.Context(), route+" "+network(c.Address), rule))
}

// charge counts a root field that came through GraphQL like a request to its route.
func (l *limits) charge(ctx context.Context, route string) *schema.Error {
	rule, known := l.rules[route]
	if !known {
		return nil
	}
	return refusal(l.shared.Allow(ctx, route+" "+network(schema.CallerFrom(ctx).Address), rule))
}

func refusal(ok bool, retryAfter time.Duration) *schema.Error {
	if ok {
		return nil
	}
	return &schema.Error{
		Code: schema.CodeRateLimited, Message: "There were too many requests from this address. Please wait a moment.", RetryAfter: retryAfter,
	}
}

// network is what is counted as one client: an IPv4 address, or the /64 network that an
// IPv6 host is given as a rule.
func network(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Is4() {
		return address
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}
