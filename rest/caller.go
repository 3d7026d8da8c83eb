package rest

import (
	"net"
	"net/http"
	"strings"

	"siteapi/schema"
)

// withCaller returns the request's caller, and the request with one in its context.
// Usually the server's middleware has put it there.
func (a *API) withCaller(r *http.Request) (*schema.Caller, *http.Request) {
	if c := schema.CallerFrom(r.Context()); c.RequestID != "" {
		return c, r
	}
	c := a.options.Caller(r)
	return c, r.WithContext(schema.WithCaller(r.Context(), c))
}

// callerFromHeaders trusts no proxy and no request id from outside.
func callerFromHeaders(r *http.Request) *schema.Caller {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	key := r.Header.Get("Idempotency-Key")
	return &schema.Caller{
		RequestID:      schema.NewRequestID(),
		Address:        address,
		Bearer:         bearer(r.Header.Get("Authorization")),
		AcceptLanguage: r.Header.Get("Accept-Language"),
		IdempotencyKey: strings.Trim(key, `"`),
		Challenge:      r.Header.Get("CF-Turnstile-Response"),
		Signature:      r.Header.Get("Sanity-Webhook-Signature"),
	}
}

// bearer returns the token of an Authorization header, empty where it holds none.
func bearer(header string) string {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
