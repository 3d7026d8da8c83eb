package httpserver

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"siteapi/schema"
)

// proxies are the networks of trusted proxies.
type proxies []netip.Prefix

// caller describes the client of a request.
func (p proxies) caller(r *http.Request) schema.Caller {
	return schema.Caller{RequestID: requestID(r.Header), Address: p.address(r), Header: r.Header}
}

// requestIDForm is the form that a client's X-Request-Id must have to be accepted, since
// it appears in logs.
var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID returns the id in a request's header, or a new one.
func requestID(h http.Header) string {
	if id := h.Get("X-Request-Id"); requestIDForm.MatchString(id) {
		return id
	}
	return strconv.FormatUint(rand.Uint64(), 36)
}

// address returns the client's IP address: that of the peer or, if the peer is a trusted
// proxy, the nearest address in X-Forwarded-For that is not a trusted proxy itself.
func (p proxies) address(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	peer, err := netip.ParseAddr(host)
	client := peer.Unmap()
	if err != nil || !p.trusted(client) {
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

// clientKey identifies a client for limits: by its IPv4 address, or by its IPv6 /64
// network, the usual allocation of one host.
func clientKey(address string) string {
	if addr, err := netip.ParseAddr(address); err == nil && addr.Is6() {
		return netip.PrefixFrom(addr, 64).Masked().String()
	}
	return address
}
