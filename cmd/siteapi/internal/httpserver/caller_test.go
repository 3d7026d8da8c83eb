package httpserver

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	c := proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}

	tests := []struct {
		name, remote string
		header       map[string]string
		want         string
	}{
		{"no proxy", "203.0.113.5:1234", nil, "203.0.113.5"},
		{
			"untrusted peer with a forwarding header", "203.0.113.5:1234",
			map[string]string{"X-Forwarded-For": "198.51.100.1"}, "203.0.113.5",
		},
		{
			"forged entries before the proxy", "10.0.0.1:80",
			map[string]string{"X-Forwarded-For": "1.1.1.1, 198.51.100.1, 10.0.0.2"}, "198.51.100.1",
		},
		{"IPv6 proxy", "[fd00::1]:80", map[string]string{"X-Forwarded-For": "2001:db8::2"}, "2001:db8::2"},
		{
			"IPv4 in IPv6", "[::ffff:10.0.0.1]:80",
			map[string]string{"X-Forwarded-For": "198.51.100.1"}, "198.51.100.1",
		},
		{
			"address with port", "10.0.0.1:80",
			map[string]string{"X-Forwarded-For": "198.51.100.1:5555"}, "198.51.100.1",
		},
		{"malformed", "10.0.0.1:80", map[string]string{"X-Forwarded-For": "unknown"}, "10.0.0.1"},
		{"only proxies", "10.0.0.1:80", map[string]string{"X-Forwarded-For": "10.0.0.4"}, "10.0.0.4"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.remote
			for name, value := range tt.header {
				r.Header.Set(name, value)
			}

			if got := c.address(r); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestClientKey(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"198.51.100.1":         "198.51.100.1",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"odd":                  "odd",
	} {
		if got := clientKey(address); got != want {
			t.Errorf("the key of %s is %s, want %s", address, got, want)
		}
	}
}
