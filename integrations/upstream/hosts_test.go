package upstream

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
)

// proxied has the addresses that the proxy of the tests was asked for. Requests to this
// machine never use a proxy.
var proxied = make(chan string, 100)

// TestMain starts a proxy before net/http reads the environment, which it does once.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied <- r.URL.Host
		_, _ = io.WriteString(w, "{}")
	}))
	_ = os.Setenv("HTTP_PROXY", proxy.URL)
	_ = os.Setenv("NO_PROXY", "direct.invalid,.internal.invalid")
	code := m.Run()
	proxy.Close()
	os.Exit(code)
}

// TestProxy sends requests of every kind through the proxy of the environment, which is on
// a private address itself. A guarded name must not resolve to a private address.
func TestProxy(t *testing.T) {
	self, err := os.Hostname()
	if _, unknown := net.LookupHost(self); err != nil || unknown != nil {
		self = "localhost" // never proxied, and not public
	}
	for _, tc := range []struct {
		address string
		guarded bool
		want    string // a part of the error; empty: the proxy is asked
	}{
		{"http://only-the-proxy-knows.invalid/hook", true, ""},
		{"http://only-the-proxy-knows.invalid/hook", false, ""},
		{"http://10.1.2.3/hook", false, ""},
		{"http://10.1.2.3/hook", true, ""}, // allowed, since the host is named by its address
		{"http://" + self + "/hook", true, "not public"},
		{"http://direct.invalid/hook", true, "no such host"},
		{"http://direct.invalid/hook", false, "no such host"},
		{"http://a.internal.invalid/hook", true, "no such host"},
	} {
		var err error
		if tc.guarded {
			var e *Endpoint
			e, err = NewEndpoint(Options{System: "s", BaseURL: tc.address}, true)
			if err == nil {
				err = e.Send(t.Context(), Request{Op: "calling"})
			}
		} else {
			_, err = New(Options{System: "s", BaseURL: tc.address}).Do(t.Context(), Request{Op: "calling", Path: "/hook"})
		}

		asked := ""
		select {
		case asked = <-proxied:
		default:
		}
		if u, _ := url.Parse(tc.address); (tc.want == "") != (asked == u.Host) || (err == nil) != (tc.want == "") ||
			err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s, guarded: %v: the proxy was asked for %q, %v, want %q", tc.address, tc.guarded, asked, err, tc.want)
		}
	}
}

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
