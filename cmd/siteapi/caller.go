package main

import (
	"crypto/rand"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"siteapi/schema"
)

// callers reads off a request who sent it.
type callers struct {
	proxies []netip.Prefix // whose word on the client's address is believed
}

// requestIDForm is what is accepted as a request id from outside: it ends up in logs.
var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (c *callers) from(r *http.Request) *schema.Caller {
	caller := &schema.Caller{
		RequestID:      r.Header.Get("X-Request-Id"),
		Address:        c.address(r),
		Bearer:         bearer(r.Header.Get("Authorization")),
		AcceptLanguage: r.Header.Get("Accept-Language"),
		IdempotencyKey: idempotencyKey(r.Header.Get("Idempotency-Key")),
		Signature:      r.Header.Get("Sanity-Webhook-Signature"),
	}
	if !requestIDForm.MatchString(caller.RequestID) {
		caller.RequestID = rand.Text()
	}
	return caller
}

func bearer(header string) string {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// idempotencyKey takes the quotes off a structured string; an unquoted key is taken
// as it is.
func idempotencyKey(header string) string {
	key := strings.TrimSpace(header)
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(key[1 : len(key)-1])
	}
	return key
}

// address returns the client's IP address: the peer's, or where the peer is a trusted
// proxy the nearest address before it that is not one itself.
func (c *callers) address(r *http.Request) string {
	if len(c.proxies) == 0 {
		if i := strings.LastIndexByte(r.RemoteAddr, ':'); i > 0 {
			return strings.Trim(r.RemoteAddr[:i], "[]")
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	client := peer.Addr().Unmap()
	if !c.trusted(client) {
		return client.String()
	}
	hops := forwarded(r.Header)
	for _, hop := range slices.Backward(hops) {
		addr, ok := parseHop(hop)
		if !ok {
			break // what lies before a hop that can't be read can't be believed
		}
		client = addr
		if !c.trusted(addr) {
			break
		}
	}
	return client.String()
}

func (c *callers) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(c.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// forwarded returns the chain of addresses that proxies wrote down, client first: from
// Forwarded (RFC 7239) where there is one, else from X-Forwarded-For.
func forwarded(h http.Header) []string {
	var hops []string
	if values := h.Values("Forwarded"); len(values) > 0 {
		for _, element := range list(strings.Join(values, ",")) {
			hop := "unknown"
			for pair := range strings.SplitSeq(element, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				if strings.EqualFold(name, "for") {
					hop = strings.Trim(value, `"`)
				}
			}
			hops = append(hops, hop)
		}
		return hops
	}
	return list(strings.Join(h.Values("X-Forwarded-For"), ","))
}

// parseHop reads an address with or without a port, IPv6 with or without brackets.
func parseHop(hop string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(hop); err == nil {
		return ap.Addr().Unmap(), true
	}
	addr, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return addr.Unmap(), err == nil
}
