package inbox

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest/pgserver"
)

// caddy starts Caddy with deploy/Caddyfile in front of two addresses, and returns its own
// address. The added options keep it from changing the machine that runs the test.
func caddy(t *testing.T, backends ...string) string {
	t.Helper()
	shipped := apptest.File(t, "cmd/siteapi/deploy/Caddyfile")
	for i, backend := range backends {
		name := fmt.Sprintf("siteapi-%d:8080", i+1)
		if !strings.Contains(shipped, name) {
			t.Fatalf("the Caddyfile does not name %s", name)
		}
		shipped = strings.Replace(shipped, name, strings.TrimPrefix(backend, "http://"), 1)
	}
	dir, address := t.TempDir(), apptest.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	options := "{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\tlocal_certs\n\tskip_install_trust\n" +
		"\tauto_https disable_redirects\n\tstorage file_system " + dir + "\n}\n"
	file := filepath.Join(dir, "Caddyfile")
	must(t, os.WriteFile(file, []byte(options+shipped), 0o600))

	apptest.Serve(t, address,
		[]string{"SITE_ADDRESS=localhost:" + port, "HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir},
		"caddy", "run", "--config", file, "--adapter", "caddyfile")
	return "https://localhost:" + port
}

// Caddy with the shipped Caddyfile forwards each event at once, over HTTP/2 as to a
// browser. When an instance stops, a page continues with the other one and misses no
// event.
func TestLiveThroughCaddy(t *testing.T) {
	t.Parallel()
	database := "DATABASE_URL=" + pgserver.Start(t).NewDatabase(t)
	instances := []*apptest.Process{
		apptest.Launch(t, t.TempDir(), apptest.LiveEnv(database, "DRAIN_DELAY=0s")...),
		apptest.Launch(t, t.TempDir(), apptest.LiveEnv(database, "DRAIN_DELAY=0s")...),
	}
	base := caddy(t, instances[0].Base, instances[1].Base)

	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // Caddy's own certificate
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	apptest.Eventually(t, "Caddy answers over HTTP/2", func() bool {
		resp, err := client.Get(base + "/healthz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == 200 && resp.ProtoMajor == 2
	})

	f := &follower{T: t, Base: base + "/graphql", Headers: []string{apptest.OperatorAuth}, Client: client}
	f.Start()
	var slowest time.Duration
	for i := range 6 {
		id := instances[i%2].Submit(fmt.Sprint("caddy-", i))
		slowest = max(slowest, f.Within(time.Minute, id, "CREATED"))
	}
	t.Logf("notified after %v at worst", slowest)
	if _, breaks := f.Ends(); breaks > 0 {
		t.Errorf("the stream broke off %d times", breaks)
	}

	// The page is connected to one of the instances. Both are stopped in turn, so that it
	// has to reconnect.
	for i, stopped := range instances {
		must(t, stopped.Cmd.Process.Signal(syscall.SIGTERM))
		_ = stopped.Cmd.Wait()
		f.Within(time.Minute, instances[1-i].Submit(fmt.Sprint("moved-", i)), "CREATED")
		instances[i] = apptest.Launch(t, t.TempDir(), apptest.LiveEnv(database, "DRAIN_DELAY=0s",
			"LISTEN_ADDR="+strings.TrimPrefix(stopped.Base, "http://"))...)
	}
	if restarts, breaks := f.Ends(); restarts > 0 || breaks == 0 {
		t.Errorf("%d restarts, %d breaks", restarts, breaks)
	}
}
