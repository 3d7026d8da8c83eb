package valkey_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cache/valkey"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	nodes, prefix := valkeyserver.StartCluster(t, 3), prefixes()
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		cachetest.Run(t, func(t *testing.T) cache.Cache {
			return open(t, valkey.Options{URL: nodes[0].URL(), Prefix: prefix(), Timeout: patient})
		})
	})
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		cachetest.RunShared(t, func(t *testing.T) (a, b cache.Cache) {
			p := prefix()
			return open(t, valkey.Options{URL: nodes[1].URL() + "?addr=" + nodes[2].Addr(), Prefix: p, Timeout: patient}),
				open(t, valkey.Options{URL: nodes[0].URL(), Prefix: p, Timeout: patient})
		})
	})
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	primary := valkeyserver.Start(t)
	replica := valkeyserver.StartReplica(t, primary)
	sentinel := valkeyserver.StartSentinel(t, primary)
	c := open(t, valkey.Options{URL: sentinel.URL() + "?master_set=main"})
	s := newContent("v")
	read(t, c, "k", s.fill, "v")
	if reply, err := primary.Do("DBSIZE"); err != nil || reply != ":1\r\n" {
		t.Fatalf("keys at the primary: %q, %v", reply, err)
	}
	// The sentinel has to hear of the replica before it can make it the primary.
	soon(t, 20*time.Second, "the sentinel knows the replica", func() bool {
		reply, err := sentinel.Do("INFO", "sentinel")
		return err == nil && strings.Contains(reply, "slaves=1")
	})
	primary.Stop()
	soon(t, 30*time.Second, "the replica took over", func() bool {
		reply, err := replica.Do("ROLE")
		return err == nil && strings.Contains(reply, "master")
	})
	soon(t, 10*time.Second, "the cache follows", func() bool { return c.Invalidate(t.Context(), "k") == nil })
	s.set("new")
	soon(t, 5*time.Second, "the new value is stored", func() bool {
		read(t, c, "k2", s.fill, "new")
		reply, err := replica.Do("DBSIZE")
		return err == nil && reply == ":1\r\n"
	})
}

// TestLeastPrivileges runs with a user who may do no more than the README will say.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	args := append([]string{"--user", "siteapi", "on", ">p@ss:w/rd", "~siteapi:*", "resetchannels", "-@all"}, strings.Fields(Privileges)...)
	server := valkeyserver.Start(t, append(args, "--user", "default", "off")...)
	c := open(t, valkey.Options{URL: "valkey://siteapi:" + url.QueryEscape("p@ss:w/rd") + "@" + server.Addr()})
	s := newContent("v")
	read(t, c, "k", s.fill, "v")
	if stats := c.Stats(t.Context()); stats.Size != 1 || !stats.Available {
		t.Errorf("statistics: %+v", stats)
	}
	if err := c.Invalidate(t.Context(), "k", "l"); err != nil {
		t.Error(err)
	}
	read(t, c, "k", s.fill, "v")
	if n, err := c.Clear(t.Context(), cache.All()); n != 1 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}
}

// Privileges are the commands a user of the cache needs.
const Privileges = "+@connection +hmget +hset +pttl +pexpire +persist +get +set +del +unlink +eval +evalsha +script|load +scan +role +cluster|slots +cluster|shards"

func TestRefusals(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t, "--requirepass", "right")
	plain := valkeyserver.Start(t)
	for name, c := range map[string]struct{ url, want string }{
		"wrong password":      {"valkey://:hushhush@" + server.Addr(), "WRONGPASS"},
		"no password":         {server.URL(), "NOAUTH"},
		"no such database":    {plain.URL() + "/99", "DB index is out of range"},
		"not a number":        {plain.URL() + "/x", "invalid database number"},
		"other scheme":        {"http://:hushhush@" + plain.Addr(), "must begin with valkey, valkeys, redis or rediss"},
		"unreadable":          {"valkey://user:hush#hush@" + plain.Addr(), "percent-encoded"},
		"no host":             {"valkey://", "names no host"},
		"unknown parameter":   {plain.URL() + "?protocol=2", `unknown parameter "protocol"; known are addr,`},
		"TLS without TLS":     {plain.URL() + "?skip_verify=true", "begins with valkey or redis instead of valkeys or rediss"},
		"no such file":        {"valkeys://" + plain.Addr() + "?ca_file=/no/such/file", "no such file"},
		"not a certificate":   {"valkeys://" + plain.Addr() + "?ca_file=/dev/null", "holds no certificate"},
		"TLS to plain port":   {"valkeys://" + plain.Addr(), ""},
		"a prefix too clever": {plain.URL(), "spaces and braces"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := valkey.Options{URL: c.url}
			if strings.HasPrefix(name, "a prefix") {
				o.Prefix = "{x}"
			}
			cc, err := valkey.Open(t.Context(), o)
			if c.want == "" { // can't be told from a server that is starting
				if err == nil {
					defer cc.Close()
					if cc.Stats(t.Context()).Available {
						t.Error("available")
					}
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Open: %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	server := valkeyserver.Start(t, "--tls-port", fmt.Sprint(freePort(t)), "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	reply, err := server.Do("CONFIG", "GET", "tls-port")
	if err != nil {
		t.Fatal(err)
	}
	port := strings.TrimSpace(reply[strings.LastIndex(strings.TrimSpace(reply), "\n")+1:])
	base := "valkeys://127.0.0.1:" + port
	c := open(t, valkey.Options{URL: base + "?ca_file=" + url.QueryEscape(cert)})
	read(t, c, "k", newContent("v").fill, "v")
	if stats := c.Stats(t.Context()); stats.Size != 1 {
		t.Errorf("statistics: %+v", stats)
	}
	c = open(t, valkey.Options{URL: base + "?skip_verify=true"})
	read(t, c, "k", newContent("other").fill, "v")
	if _, err := valkey.Open(t.Context(), valkey.Options{URL: base}); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("Open without the authority: %v", err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// certificate writes a self-signed certificate for 127.0.0.1 and its key.
func certificate(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
