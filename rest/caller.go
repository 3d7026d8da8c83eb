package rest

import (
	"net"
	"net/http"
	"strings"

	"siteapi/schema"
)

// callerOf returns the caller in the context of a request, where a server's middleware
// may have put one. Otherwise it trusts no proxy and no request id from outside.
func callerOf(_ http.ResponseWriter, r *http.Request) *schema.Caller {
	if c := schema.CallerFrom(r.Context()); c.RequestID != "" {
		return c
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	key := first(r.Header, "Idempotency-Key")
	return &schema.Caller{
		RequestID:      schema.NewRequestID(),
		Address:        address,
		Bearer:         bearer(first(r.Header, "Authorization")),
		AcceptLanguage: first(r.Header, "Accept-Language"),
		IdempotencyKey: strings.Trim(key, `"`),
		Challenge:      first(r.Header, "Cf-Turnstile-Response"),
		Signature:      first(r.Header, "Sanity-Webhook-Signature"),
	}
}

// first is http.Header.Get for a name in its canonical form, which is all of the work
// that Get does where there is no such header.
func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// bearer returns the token of an Authorization header, empty where it holds none.
func bearer(header string) string {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
