package httpserver

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	c := proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, tt := range []struct{ why, remote, forwarded, want string }{
		{"no proxy", "203.0.113.5:1234", "", "203.0.113.5"},
		{"untrusted peer with a forwarding header", "203.0.113.5:1234", "198.51.100.1", "203.0.113.5"},
		{"forged entries before the proxy", "10.0.0.1:80", "1.1.1.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"},
		{"IPv6 proxy", "[fd00::1]:80", "2001:db8::2", "2001:db8::2"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:80", "198.51.100.1", "198.51.100.1"},
		{"address with port", "10.0.0.1:80", "198.51.100.1:5555", "198.51.100.1"},
		{"malformed", "10.0.0.1:80", "unknown", "10.0.0.1"},
		{"only proxies", "10.0.0.1:80", "10.0.0.4", "10.0.0.4"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.remote
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		if got := c.address(r); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.why, got, tt.want)
		}
	}
}
