package main

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"siteapi/schema"
)

// callers reads off a request who sent it.
type callers struct {
	proxies []netip.Prefix // whose word on the client's address is believed
}

// read notes who sent a request, all but its id.
func (c *callers) read(r *http.Request, caller *schema.Caller) {
	caller.Address = c.address(r)
	caller.Bearer = bearer(first(r.Header, "Authorization"))
	caller.AcceptLanguage = first(r.Header, "Accept-Language")
	caller.IdempotencyKey = idempotencyKey(first(r.Header, "Idempotency-Key"))
	caller.Challenge = first(r.Header, "Cf-Turnstile-Response")
	caller.Signature = first(r.Header, "Sanity-Webhook-Signature")
}

// requestID returns the id that a request brought, or a new one.
func requestID(h http.Header) string {
	if id := first(h, "X-Request-Id"); isRequestID(id) {
		return id
	}
	return schema.NewRequestID()
}

// first is http.Header.Get for a name in its canonical form, which is all of the work
// that Get does where there is no such header.
func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// isRequestID tells what is accepted as a request id from outside: it ends up in logs.
func isRequestID(id string) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
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
			return strings.TrimSuffix(strings.TrimPrefix(r.RemoteAddr[:i], "["), "]")
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
	standard, common := c.before(client, forwarded(r.Header)), c.before(client, forwardedFor(r.Header))
	switch {
	case standard == client:
		return common.String()
	case common == client || common == standard:
		return standard.String()
	default:
		// Proxies write one of the headers and pass the other on as the client sent it. Where
		// they differ nobody knows which is which, so the proxy itself is counted.
		return client.String()
	}
}

// before returns the nearest address of a chain that is not a trusted proxy; the peer
// where there is no chain, or none to be believed.
func (c *callers) before(peer netip.Addr, hops []string) netip.Addr {
	client := peer
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
	return client
}

func (c *callers) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(c.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// forwarded returns the chain of addresses in Forwarded (RFC 7239), client first.
func forwarded(h http.Header) []string {
	var hops []string
	for _, element := range strings.Split(strings.Join(h.Values("Forwarded"), ","), ",") {
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

// forwardedFor returns the chain of addresses in X-Forwarded-For, client first.
func forwardedFor(h http.Header) []string {
	return strings.Split(strings.Join(h.Values("X-Forwarded-For"), ","), ",")
}

// parseHop reads an address with or without a port, IPv6 with or without brackets.
func parseHop(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if ap, err := netip.ParseAddrPort(hop); err == nil {
		return ap.Addr().Unmap(), true
	}
	addr, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return addr.Unmap(), err == nil
}
