package httpserver

import (
	"context"
	"net/http"
	"time"

	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/integrations/ratelimit"
	"siteapi/schema"
	"siteapi/schema/request"
)

// limit is the rate limit of a client for a route and its GraphQL root field. A test
// compares the table with the manual.
type limit struct {
	route, field string
	ratelimit.Rule

	// A local limit is counted per instance, since a round trip to a server would cost
	// more than the response. Other limits are shared by instances that use the same
	// Valkey.
	local bool
}

const (
	// otherRoutes stands for all routes without their own limit.
	otherRoutes = "everything else"

	// grantRoute stands for the requests of an assistant. They count by its grant, and not
	// only by the address, from which the assistants of many operators call.
	grantRoute = "POST " + inbox.ResourcePath + " of one grant"
)

func rule(number int, period time.Duration, burst int) ratelimit.Rule {
	return ratelimit.Rule{Limit: number, Period: period, Burst: burst}
}

var routeLimits = []limit{ //nolint:gochecknoglobals // a table that never changes
	{route: "POST /api/quote/track", field: "trackQuote", Rule: rule(10, time.Second, 40)},
	{route: "POST /api/quote/estimate", field: "estimateQuote", Rule: rule(10, time.Second, 40)},
	{route: "POST /api/quote/submit", field: "submitQuote", Rule: rule(20, time.Minute, 10)},
	{route: "GET /api/quote/pdf", field: "quotePdf", Rule: rule(60, time.Minute, 20)},
	{route: "GET /api/quote/page", field: "quotePage", Rule: rule(60, time.Minute, 20)},
	{route: "POST /api/quote/page/withdraw", field: "withdrawQuoteConsent", Rule: rule(60, time.Minute, 20)},
	{route: "POST /api/quote/page/deletion", field: "requestQuoteDeletion", Rule: rule(60, time.Minute, 20)},
	{route: "GET /api/cache/clear", field: "cacheStats", Rule: rule(10, time.Second, 40)},
	{route: "POST /api/cache/clear", field: "clearCache", Rule: rule(60, time.Minute, 30)},
	{route: "POST /api/cache/invalidate", field: "invalidateCache", Rule: rule(60, time.Minute, 30)},
	{route: "POST /api/webhooks/cms", field: "receiveCmsWebhook", Rule: rule(25, time.Second, 100)},
	{route: "POST " + inbox.LoginPath, Rule: rule(10, 15*time.Minute, 10)},
	{route: "GET " + inbox.LoginPath, Rule: rule(10, 15*time.Minute, 10)},
	{route: "GET " + inbox.CallbackPath, Rule: rule(10, 15*time.Minute, 10)},
	{route: "GET " + inbox.AssistantPath, Rule: rule(10, 15*time.Minute, 10)},
	{route: "POST " + inbox.ResourcePath, Rule: rule(800, time.Second, 3200), local: true},
	{route: grantRoute, Rule: rule(50, time.Second, 200), local: true},
	{route: "POST " + GraphQLPath, Rule: rule(50, time.Second, 200), local: true},
	{route: otherRoutes, Rule: rule(50, time.Second, 200), local: true},
}

// limitOf returns the limit of a route.
func limitOf(route string) limit {
	for _, l := range routeLimits {
		if l.route == route {
			return l
		}
	}
	return limitOf(otherRoutes)
}

// RateLimits limits how often a client may use a route. A nil RateLimits allows every
// request.
type RateLimits struct {
	Shared ratelimit.Limiter // shared by all instances
	Local  ratelimit.Limiter // limits of this instance
}

// check returns RATE_LIMITED if a client has used a route too often.
func (l *RateLimits) check(r *http.Request) *schema.Error {
	method := r.Method
	if method == http.MethodHead { // HEAD costs what GET costs
		method = http.MethodGet
	}

	limit := limitOf(method + " " + r.Pattern)
	recordOf(r.Context()).charged = limit.field != ""
	return l.allow(r.Context(), limit, 1)
}

// Charge counts n uses of a GraphQL root field as n requests to its REST route. A request
// to the REST route itself is already counted.
func (l *RateLimits) Charge(ctx context.Context, field string, n int) *schema.Error {
	if l == nil || recordOf(ctx).charged {
		return nil
	}

	for _, limit := range routeLimits {
		if limit.field == field {
			return l.allow(ctx, limit, n)
		}
	}
	return nil
}

// ChargeMore counts work of an operation as further GraphQL requests. It counts at most half
// of the burst of a client at once.
func (l *RateLimits) ChargeMore(ctx context.Context, requests int) *schema.Error {
	if l == nil {
		return nil
	}
	limit := limitOf("POST " + GraphQLPath)
	return l.allow(ctx, limit, min(requests, limit.Burst/2))
}

// ChargeGrant counts a request of an assistant, whose grant the caller has as its address.
func (l *RateLimits) ChargeGrant(ctx context.Context) *schema.Error {
	if l == nil {
		return nil
	}
	return l.allow(ctx, limitOf(grantRoute), 1)
}

func (l *RateLimits) allow(ctx context.Context, limit limit, n int) *schema.Error {
	limiter := l.Shared
	if limit.local {
		limiter = l.Local
	}
	address := request.CallerFrom(ctx).Address
	ok, retryAfter := ratelimit.AllowClient(ctx, limiter, limit.route, address, n, limit.Rule)
	if ok {
		return nil
	}

	return &schema.Error{
		Code:       schema.CodeRateLimited,
		RetryAfter: retryAfter,
		Message:    "There were too many requests from this address. Please wait a moment.",
	}
}
