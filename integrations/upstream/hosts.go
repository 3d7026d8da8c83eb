package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// ErrHostNotAllowed means that the host of an address is not allowed.
var ErrHostNotAllowed = errors.New("the host is not allowed")

// AllowedHosts are the hosts that addresses in the content may have.
type AllowedHosts struct {
	hosts []*url.URL // A host with a leading dot means its subdomains.
}

// hostForm matches a scheme, an optional "*." for subdomains, a host and an optional port.
var hostForm = regexp.MustCompile(`^(https?)://(\*\.)?([^\s./*?#@:\[][^\s/*?#@:]*|\[[0-9a-f:]+\])(:\d+)?$`)

// ParseAllowedHosts parses hosts such as "cdn.example.com" or "*.example.com". A port other
// than the scheme's default is appended as ":port"; plain HTTP needs the prefix "http://".
func ParseAllowedHosts(texts []string) (*AllowedHosts, error) {
	a := &AllowedHosts{}
	for _, text := range texts {
		address := strings.ToLower(strings.TrimSpace(text))
		if !strings.Contains(address, "://") {
			address = "https://" + address
		}
		if !hostForm.MatchString(address) {
			return nil, fmt.Errorf("%q is not a host, such as cdn.example.com or *.example.com", text)
		}

		u, err := url.Parse(strings.Replace(address, "://*.", "://.", 1))
		if err != nil {
			return nil, fmt.Errorf("reading a host: %w", err)
		}
		a.hosts = append(a.hosts, u)
	}
	return a, nil
}

// Check returns an ErrHostNotAllowed unless the host of an address is allowed.
func (a *AllowedHosts) Check(u *url.URL) error {
	name := strings.ToLower(u.Hostname())
	for _, host := range a.hosts {
		subdomain := strings.HasPrefix(host.Host, ".") && strings.HasSuffix(name, host.Hostname())
		if u.Scheme == host.Scheme && u.Port() == host.Port() && u.User == nil &&
			(subdomain || name == host.Hostname()) {
			return nil
		}
	}
	if u.Host == "" {
		return fmt.Errorf("%w: the address has none", ErrHostNotAllowed)
	}
	return fmt.Errorf("%w: %s://%s", ErrHostNotAllowed, u.Scheme, u.Host)
}

// Transport returns a transport that refuses an allowed name if it resolves to an IP address
// that is not public, unless the hosts include that IP address. Behind a proxy it looks the
// name up before the request; a name that only the proxy can resolve is left to it.
func (a *AllowedHosts) Transport() http.RoundTripper {
	direct := newTransport()
	direct.Proxy = nil
	direct.DialContext = (&net.Dialer{Timeout: dialTimeout, Control: a.publicOnly}).DialContext
	return guarded{a, direct, newTransport()}
}

// guarded sends a request directly or through the proxy of the environment, whose own
// address may be private.
type guarded struct {
	hosts           *AllowedHosts
	direct, proxied *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, fmt.Errorf("reading HTTPS_PROXY: %w", err)
	}
	if proxy == nil {
		return g.direct.RoundTrip(r)
	}

	ctx, cancel := context.WithTimeout(r.Context(), dialTimeout/2)
	defer cancel()
	found, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", r.URL.Hostname())
	for _, ip := range found {
		if err := g.hosts.checkIP(ip); err != nil {
			return nil, err
		}
	}
	return g.proxied.RoundTrip(r)
}

func (a *AllowedHosts) publicOnly(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("checking an address: %w", err)
	}
	return a.checkIP(to.Addr())
}

// checkIP returns an ErrHostNotAllowed unless an IP address is public or among the hosts.
func (a *AllowedHosts) checkIP(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	for _, host := range a.hosts {
		if named, err := netip.ParseAddr(host.Hostname()); err == nil && named.Unmap() == ip {
			return nil
		}
	}

	if ssrf.New().SafeAddr(ip) != nil {
		return fmt.Errorf("%w: it resolves to %s, which is not public", ErrHostNotAllowed, ip)
	}
	return nil
}

// IsLocal reports whether a host is this machine: a loopback address or a name for one.
func IsLocal(host string) bool {
	host = strings.ToLower(host)
	ip, _ := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.Unmap().IsLoopback()
}
