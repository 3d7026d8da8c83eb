package content

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
)

// TestEveryFormOfCacheURL starts the service with each documented form of CACHE_URL.
func TestEveryFormOfCacheURL(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t, "--user", "site", "on", ">p@ss", "~*", "&*", "+@all")
	encrypted := tlsProxy(t, server.Addr())

	for url, backend := range map[string]string{
		"memory://":                                    "memory",
		"valkey://" + server.Addr():                    "valkey",
		"redis://" + server.Addr():                     "valkey",
		"redis://site:p%40ss@" + server.Addr() + "/1":  "valkey",
		"valkeys://" + encrypted + "?skip_verify=true": "valkey",
		"rediss://" + encrypted + "?skip_verify=true":  "valkey",
	} {
		got := apptest.Launch(t, t.TempDir(), "CACHE_URL="+url).Do("GET", "/api/cache/clear", "")
		if !got.Has(`"type":"`+backend+`"`) || !got.Has(`"available":true`) {
			t.Errorf("with %s the cache reports %s", url, got)
		}
	}
}

// tlsProxy returns the address of a TLS listener in front of a plain server.
func tlsProxy(t *testing.T, plain string) string {
	t.Helper()
	certificate := httptest.NewTLSServer(nil)
	t.Cleanup(certificate.Close)

	l, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: certificate.TLS.Certificates, MinVersion: tls.VersionTLS12})
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })

	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}

			go func() {
				defer func() { _ = client.Close() }()
				server, err := net.Dial("tcp", plain)
				if err != nil {
					return
				}
				defer func() { _ = server.Close() }()
				go func() { _, _ = io.Copy(server, client) }()
				_, _ = io.Copy(client, server)
			}()
		}
	}()

	return l.Addr().String()
}
