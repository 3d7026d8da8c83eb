package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
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

// Transport returns a transport that refuses an allowed name if it resolves to a private
// address, unless the hosts name that address itself. It uses no proxy.
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

	ip := to.Addr().Unmap()
	for _, host := range a.hosts {
		if named, err := netip.ParseAddr(host.Hostname()); err == nil && named.Unmap() == ip {
			return nil
		}
	}

	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return fmt.Errorf("%w: it resolves to the private address %s", ErrHostNotAllowed, ip)
	}
	return nil
}
