package httpserver

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/integrations/ratelimit"
	"siteapi/schema"
)

// routeLimit limits one route together with its root field in GraphQL. Instances that use
// the same Valkey count together.
type routeLimit struct {
	route, field string
	rule         ratelimit.Rule
}

var routeLimits = []routeLimit{ //nolint:gochecknoglobals // a table that never changes
	{"POST /api/quote/track", "trackQuote", ratelimit.Rule{Limit: 10, Period: time.Second, Burst: 40}},
	{"POST /api/quote/estimate", "estimateQuote", ratelimit.Rule{Limit: 10, Period: time.Second, Burst: 40}},
	{"POST /api/quote/submit", "submitQuote", ratelimit.Rule{Limit: 20, Period: time.Minute, Burst: 10}},
	{"GET /api/quote/pdf", "quotePdf", ratelimit.Rule{Limit: 60, Period: time.Minute, Burst: 20}},
	{"GET /api/cache/clear", "cacheStats", ratelimit.Rule{Limit: 10, Period: time.Second, Burst: 40}},
	{"POST /api/cache/clear", "clearCache", ratelimit.Rule{Limit: 60, Period: time.Minute, Burst: 30}},
	{
		"POST /api/cache/invalidate", "invalidateCache",
		ratelimit.Rule{Limit: 60, Period: time.Minute, Burst: 30},
	},
	{"POST " + inbox.SessionPath, "", ratelimit.Rule{Limit: 10, Period: 15 * time.Minute, Burst: 10}},
	{"GET " + inbox.LoginPath, "", ratelimit.Rule{Limit: 10, Period: 15 * time.Minute, Burst: 10}},
	{"GET " + inbox.CallbackPath, "", ratelimit.Rule{Limit: 10, Period: 15 * time.Minute, Burst: 10}},
	{
		"POST /api/webhooks/cms", "receiveCmsWebhook",
		ratelimit.Rule{Limit: 25, Period: time.Second, Burst: 100},
	},
}

// otherLimit limits GraphQL requests, and separately all other requests. Each instance
// counts for itself: a round trip to a server would cost more than the answer.
var otherLimit = ratelimit.Rule{ //nolint:gochecknoglobals // never changes
	Limit:  50,
	Period: time.Second,
	Burst:  200,
}

// RateLimits limit how often one client may use a route. Nil ones limit nothing.
type RateLimits struct {
	Shared ratelimit.Limiter // counts for all instances
	Local  ratelimit.Limiter // counts for this one
}

// check returns RATE_LIMITED if a client has used a route too often.
func (l *RateLimits) check(r *http.Request) *schema.Error {
	method := r.Method
	if method == http.MethodHead { // HEAD costs what GET costs
		method = http.MethodGet
	}

	route := method + " " + cmp.Or(r.Pattern, r.URL.Path)
	for _, limit := range routeLimits {
		if limit.route == route {
			recordOf(r.Context()).charged = true
			return allow(r.Context(), l.Shared, route, 1, limit.rule)
		}
	}

	if route != "POST "+GraphQLPath {
		route = "other" // one counter for all other paths
	}

	return allow(r.Context(), l.Local, route, 1, otherLimit)
}

// Charge counts n uses of a root field in GraphQL like as many requests to its route. A
// request that was counted as one to its own route is not counted again.
func (l *RateLimits) Charge(ctx context.Context, field string, n int) *schema.Error {
	if l == nil || recordOf(ctx).charged {
		return nil
	}

	for _, limit := range routeLimits {
		if limit.field == field {
			return allow(ctx, l.Shared, limit.route, n, limit.rule)
		}
	}
	return nil
}

// How much of an answer counts like one more request. To encode a hundred objects, however
// small, takes as long as to answer a small query.
const (
	answerUnit  = 256 << 10 // bytes
	objectsUnit = 100       // objects of a list
)

// ChargeAnswer counts each full answerUnit and objectsUnit of an answer like one more GraphQL
// request. The largest answer takes half of what a client may have at once.
func (l *RateLimits) ChargeAnswer(ctx context.Context, size, objects int) *schema.Error {
	n := min(size/answerUnit+objects/objectsUnit, otherLimit.Burst/2)
	if l == nil || n == 0 {
		return nil
	}
	return allow(ctx, l.Local, "POST "+GraphQLPath, n, otherLimit)
}

func allow(
	ctx context.Context, limiter ratelimit.Limiter, route string, n int, rule ratelimit.Rule,
) *schema.Error {
	ok, retryAfter := ratelimit.AllowClient(ctx, limiter, route, schema.CallerFrom(ctx).Address, n, rule)
	if ok {
		return nil
	}

	return &schema.Error{
		Code:       schema.CodeRateLimited,
		RetryAfter: retryAfter,
		Message:    "There were too many requests from this address. Please wait a moment.",
	}
}
