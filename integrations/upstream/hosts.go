package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"

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
	return fmt.Errorf("%w: %s", ErrHostNotAllowed, u.Host)
}

// Transport returns a transport that refuses an allowed name if it resolves to an IP address
// that is not public, unless the hosts include that IP address. It uses no proxy.
func (a *AllowedHosts) Transport() *http.Transport {
	t := newTransport()
	t.Proxy, t.DialContext = nil, (&net.Dialer{Timeout: 5 * time.Second, Control: a.publicOnly}).DialContext
	return t
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
