package hubspottest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Limits are how many requests an account takes. 0: any number.
type Limits struct {
	PerSecond     int // policy SECONDLY
	PerTenSeconds int // policy TEN_SECONDLY_ROLLING; a free account has 100
	PerDay        int // policy DAILY, counted over 24 hours rather than from midnight
}

// limiter counts requests in rolling windows.
type limiter struct {
	limits Limits
	taken  []time.Time // within the last day, oldest first
}

// take counts a request. It returns the headers of the answer and, where the request
// is one too many, the name of the policy that refuses it.
func (l *limiter) take(now time.Time) (http.Header, string) {
	for len(l.taken) > 0 && now.Sub(l.taken[0]) >= 24*time.Hour {
		l.taken = l.taken[1:]
	}
	used := func(window time.Duration) int {
		n := 0
		for i := len(l.taken) - 1; i >= 0 && now.Sub(l.taken[i]) < window; i-- {
			n++
		}
		return n
	}
	h := http.Header{}
	policy := ""
	check := func(name string, limit int, window time.Duration, most, remaining string) {
		if limit <= 0 {
			return
		}
		left := limit - used(window)
		if left <= 0 && policy == "" {
			policy = name
		}
		h.Set(most, strconv.Itoa(limit))
		h.Set(remaining, strconv.Itoa(max(left-1, 0)))
	}
	check("DAILY", l.limits.PerDay, 24*time.Hour, "X-HubSpot-RateLimit-Daily", "X-HubSpot-RateLimit-Daily-Remaining")
	check("TEN_SECONDLY_ROLLING", l.limits.PerTenSeconds, 10*time.Second, "X-HubSpot-RateLimit-Max", "X-HubSpot-RateLimit-Remaining")
	check("SECONDLY", l.limits.PerSecond, time.Second, "X-HubSpot-RateLimit-Secondly", "X-HubSpot-RateLimit-Secondly-Remaining")
	if l.limits.PerTenSeconds > 0 {
		h.Set("X-HubSpot-RateLimit-Interval-Milliseconds", "10000")
	}
	if policy == "" && l.limits != (Limits{}) {
		l.taken = append(l.taken, now)
	}
	return h, policy
}

// limited is the refusal by a policy.
func (s *Server) limited(policy string) answer {
	a := answer{status: http.StatusTooManyRequests, header: http.Header{}, body: limitBody(policy, s.correlation())}
	if s.o.RetryAfter {
		a.header.Set("Retry-After", retryAfter(policy))
	}
	return a
}

// limitBody is the refusal's body.
func limitBody(policy, correlation string) map[string]any {
	words := map[string]string{"DAILY": "daily", "TEN_SECONDLY_ROLLING": "ten_secondly_rolling", "SECONDLY": "secondly"}
	return map[string]any{
		"status": "error", "message": fmt.Sprintf("You have reached your %s limit.", words[policy]),
		"errorType": "RATE_LIMIT", "correlationId": correlation, "policyName": policy,
	}
}

func retryAfter(policy string) string {
	switch policy {
	case "DAILY":
		return "7200"
	case "SECONDLY":
		return "1"
	}
	return "10"
}
