package pdf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// hostRule is one place that logos may come from.
type hostRule struct {
	scheme string // https, or http where the rule says so
	host   string // in lower case; with a leading dot it stands for all subdomains
	port   string // "" for the scheme's own
}

// parseHostRules reads rules of the forms "cdn.example.com", "*.example.com",
// "cdn.example.com:8443" and "http://127.0.0.1:3000". Without a scheme it is https.
func parseHostRules(texts []string) ([]hostRule, error) {
	rules := make([]hostRule, 0, len(texts))
	for _, text := range texts {
		scheme, rest, ok := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "://")
		if !ok {
			scheme, rest = "https", scheme
		}
		u, err := url.Parse(scheme + "://" + strings.TrimPrefix(rest, "*"))
		if err != nil || u.Hostname() == "" || u.Path != "" || u.User != nil || scheme != "https" && scheme != "http" {
			return nil, fmt.Errorf("%q is not a host that a logo may come from", text)
		}
		if strings.HasPrefix(rest, "*") != strings.HasPrefix(u.Hostname(), ".") {
			return nil, fmt.Errorf("%q is not a host that a logo may come from: a star stands for whole labels", text)
		}
		rules = append(rules, hostRule{scheme: scheme, host: u.Hostname(), port: u.Port()})
	}
	return rules, nil
}

// allows reports whether an address follows the rule.
func (r hostRule) allows(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	if u.Scheme != r.scheme || u.User != nil || u.Port() != r.port {
		return false
	}
	if strings.HasPrefix(r.host, ".") {
		return strings.HasSuffix(host, r.host)
	}
	return host == r.host
}

// errNotAllowed says that no rule names an address's host.
var errNotAllowed = errors.New("the logo's host is not among the allowed ones")

func allowed(u *url.URL, rules []hostRule) error {
	for _, r := range rules {
		if r.allows(u) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", errNotAllowed, u.Host)
}

// publicOnly returns a check for a dialer: an allowed name that leads to an address
// inside the own network is refused, so that nobody who can change a name or a
// redirect reaches services there. An address that a rule itself names is meant.
func publicOnly(rules []hostRule) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("checking the logo's address: %w", err)
		}
		ip, err := netip.ParseAddr(host)
		if err != nil {
			return fmt.Errorf("checking the logo's address: %w", err)
		}
		ip = ip.Unmap()
		for _, r := range rules {
			if named, err := netip.ParseAddr(r.host); err == nil && named.Unmap() == ip {
				return nil
			}
		}
		if !ip.IsGlobalUnicast() || ip.IsPrivate() {
			return fmt.Errorf("%w: its name leads to the private address %s", errNotAllowed, ip)
		}
		return nil
	}
}
