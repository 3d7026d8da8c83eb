package upstream

import (
	"net/url"
	"testing"
)

func TestAllowedHosts(t *testing.T) {
	t.Parallel()

	hosts, err := ParseAllowedHosts([]string{
		"cdn.example.com",
		"*.Images.example.com",
		"media.example.com:8443",
		"http://127.0.0.1:3000",
	})
	if err != nil {
		t.Fatal(err)
	}

	for address, ok := range map[string]bool{
		"https://cdn.example.com/a.png":         true,
		"https://a.images.example.com/a.png":    true,
		"https://media.example.com:8443/a.png":  true,
		"http://127.0.0.1:3000/a.png":           true,
		"http://cdn.example.com/a.png":          false,
		"https://cdn.example.com:444/a.png":     false,
		"https://images.example.com/a.png":      false,
		"https://evilimages.example.com/a.png":  false,
		"https://cdn.example.com.evil.io/a.png": false,
		"https://cdn.example.com@evil.io/a.png": false,
		"https://127.0.0.1:3000/a.png":          false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}

		if err := hosts.Check(u); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}

	for _, text := range []string{
		"",
		"*",
		"*example.com",
		".example.com",
		"ftp://example.com",
		"example.com/path",
		"user@example.com",
		"exa mple.com",
	} {
		if _, err := ParseAllowedHosts([]string{text}); err == nil {
			t.Errorf("the host %q was accepted", text)
		}
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()

	check := (&AllowedHosts{}).publicOnly

	for address, ok := range map[string]bool{
		"93.184.216.34:443":        true,
		"[2606:2800:220:1::1]:443": true,
		"10.0.0.1:443":             false,
		"127.0.0.1:443":            false,
		"169.254.169.254:80":       false,
		"0.0.0.0:443":              false,
		"[::1]:443":                false,
		"[fe80::1]:443":            false,
		"[fd00::1]:443":            false,
		"[::ffff:10.0.0.1]:443":    false,
		"100.64.0.1:443":           false,
		"198.18.0.1:443":           false,
		"[64:ff9b::a00:1]:443":     false,
		"[2002:a00:1::]:443":       false,
		"nonsense":                 false,
	} {
		if err := check("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
