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

// ErrHostNotAllowed means that an address is not among the allowed hosts.
var ErrHostNotAllowed = errors.New("the host is not among the allowed ones")

// AllowedHosts are the hosts that addresses of the content may name.
type AllowedHosts struct {
	hosts []*url.URL // A host with a leading dot stands for its subdomains.
}

// hostForm is a host, with its subdomains or not, and perhaps a scheme and a port.
var hostForm = regexp.MustCompile(`^(https?)://(\*\.)?([^\s./*?#@:\[][^\s/*?#@:]*|\[[0-9a-f:]+\])(:\d+)?$`)

// ParseAllowedHosts reads hosts such as "cdn.example.com" or "*.example.com". A ":port"
// is needed if it is not the scheme's, and "http://" in front if plain HTTP is meant.
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

// Transport returns a transport that refuses an allowed name if it resolves to an address
// that is not public, unless the hosts name that address itself. It uses no proxy.
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
