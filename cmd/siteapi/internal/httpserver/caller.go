package httpserver

import (
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"siteapi/schema/request"
)

// proxies are the networks of trusted proxies.
type proxies []netip.Prefix

// caller describes the client of a request.
func (p proxies) caller(r *http.Request) request.Caller {
	return request.Caller{RequestID: p.requestID(r), Address: p.address(r), Header: r.Header}
}

// Accepted forms of X-Request-Id, which appears in logs. Clients may send a UUID, a ULID
// or a W3C trace id, which cannot contain personal data by accident.
var (
	proxyRequestID  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	clientRequestID = regexp.MustCompile(`^(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}` +
		`|[0-7][0-9a-hjkmnp-tv-z]{25}|[0-9a-f]{32})$`)
)

// requestID returns the X-Request-Id of a request if it is valid, or a new one.
func (p proxies) requestID(r *http.Request) string {
	form := clientRequestID
	if peer, _ := peerOf(r); p.trusted(peer) {
		form = proxyRequestID
	}

	if id := r.Header.Get("X-Request-Id"); form.MatchString(id) {
		return id
	}
	return request.NewID()
}

// peerOf parses RemoteAddr, and also returns its host as text. The address is invalid if
// the host is not an IP address.
func peerOf(r *http.Request) (netip.Addr, string) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	peer, _ := netip.ParseAddr(host)
	return peer.Unmap(), host
}

// address returns the IP address of the client. If the peer is a trusted proxy, this is
// the nearest address in X-Forwarded-For that is not a trusted proxy.
func (p proxies) address(r *http.Request) string {
	client, host := peerOf(r)
	if !p.trusted(client) {
		return host
	}

	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && p.trusted(client); i-- {
		addr, err := parseHop(strings.TrimSpace(hops[i]))
		if err != nil {
			break // entries before a malformed one are not trustworthy
		}
		client = addr
	}
	return client.String()
}

func (p proxies) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(addr) })
}

// parseHop reads an address with or without a port, IPv6 with or without brackets.
func parseHop(hop string) (netip.Addr, error) {
	if host, _, err := net.SplitHostPort(hop); err == nil {
		hop = host
	}
	addr, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return addr.Unmap(), err
}

// isLocal reports whether a request was sent from this machine to a loopback name, and
// not through a proxy.
func isLocal(r *http.Request) bool {
	peer, _ := peerOf(r)
	return peer.IsLoopback() && isLoopbackHost(r) &&
		r.Header["X-Forwarded-For"] == nil && r.Header["Forwarded"] == nil
}
