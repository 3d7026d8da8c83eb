package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrHostNotAllowed means that an address is not among the allowed hosts.
var ErrHostNotAllowed = errors.New("the host is not among the allowed ones")

// AllowedHosts are the hosts that addresses of the content may name.
type AllowedHosts struct {
	hosts []*url.URL // A host with a leading dot stands for its subdomains.
}

// ParseAllowedHosts reads hosts such as "cdn.example.com" or "*.example.com". A ":port"
// is needed if it is not the scheme's, and "http://" in front if plain HTTP is meant.
func ParseAllowedHosts(texts []string) (*AllowedHosts, error) {
	a := &AllowedHosts{}
	for _, text := range texts {
		address := strings.ToLower(strings.TrimSpace(text))
		if !strings.Contains(address, "://") {
			address = "https://" + address
		}

		u, err := url.Parse(strings.Replace(address, "://*.", "://.", 1))
		if err != nil || strings.Trim(u.Hostname(), ".") == "" ||
			strings.Contains(address, "://.") || strings.Contains(u.Host, "*") ||
			u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil ||
			u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("%q is not a host, such as cdn.example.com or *.example.com", text)
		}

		a.hosts = append(a.hosts, u)
	}
	return a, nil
}

// Check returns ErrHostNotAllowed for an address at any other host.
func (a *AllowedHosts) Check(u *url.URL) error {
	name := strings.ToLower(u.Hostname())
	for _, host := range a.hosts {
		subdomain := strings.HasPrefix(host.Host, ".") && strings.HasSuffix(name, host.Hostname())
		if u.Scheme == host.Scheme && u.Port() == host.Port() && u.User == nil &&
			(subdomain || name == host.Hostname()) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrHostNotAllowed, u.Host)
}

// notPublic are networks that net/netip does not count as private, but which are not part
// of the public internet either, or lead to another address (the IANA's registries of
// special-purpose addresses).
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carriers' networks
	netip.MustParsePrefix("192.0.0.0/24"),    // protocols
	netip.MustParsePrefix("192.0.2.0/24"),    // examples
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // examples
	netip.MustParsePrefix("203.0.113.0/24"),  // examples
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved
	netip.MustParsePrefix("::/96"),           // IPv4, as it was embedded once
	netip.MustParsePrefix("64:ff9b::/96"),    // IPv4, by NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),  // IPv4, by a NAT64 of one's own
	netip.MustParsePrefix("100::/64"),        // discarded
	netip.MustParsePrefix("2001::/23"),       // protocols, among them Teredo
	netip.MustParsePrefix("2001:db8::/32"),   // examples
	netip.MustParsePrefix("2002::/16"),       // IPv4, by 6to4
	netip.MustParsePrefix("3fff::/20"),       // examples
	netip.MustParsePrefix("5f00::/16"),       // segment routing
	netip.MustParsePrefix("fec0::/10"),       // sites' networks, as they were once
}

// isPublic reports whether an address is part of the public internet.
func isPublic(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() &&
		!slices.ContainsFunc(notPublic, func(network netip.Prefix) bool { return network.Contains(ip) })
}

// Transport returns a transport that refuses an allowed name if it resolves to an address
// that is not public, unless the hosts name that address itself. It uses no proxy.
func (a *AllowedHosts) Transport() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second, Control: a.publicOnly}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout:        10 * time.Second,
	}
}

func (a *AllowedHosts) publicOnly(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("checking an address: %w", err)
	}

	ip := to.Addr().Unmap().WithZone("")
	for _, host := range a.hosts {
		if named, err := netip.ParseAddr(host.Hostname()); err == nil && named.Unmap() == ip {
			return nil
		}
	}

	if !isPublic(ip) {
		return fmt.Errorf("%w: it resolves to %s, which is not public", ErrHostNotAllowed, ip)
	}
	return nil
}
