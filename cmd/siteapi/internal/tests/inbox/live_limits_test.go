package inbox

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

// TestLiveLimits opens the 200 pages of four tokens: they take little memory and no place of
// other requests, and all end first when the service stops.
func TestLiveLimits(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	r := apptest.Launch(t, t.TempDir(), "ADMIN_ADDR="+admin, "ADMIN_PAGE=on", "ADMIN_API_TOKEN=t0,t1,t2,t3",
		"MAX_REQUESTS=8", "RATE_LIMITS=on", "DRAIN_DELAY=5s")
	metric := func(name string) float64 {
		t.Helper()
		got := (&apptest.Service{T: t, Base: "http://" + admin}).Do("GET", "/metrics", "")
		found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(got.Body)
		if found == nil {
			t.Fatalf("no metric %s", name)
		}
		n, _ := strconv.ParseFloat(string(found[1]), 64)
		return n
	}

	open := func(token int) *http.Response {
		t.Helper()
		resp, err := openStream(t.Context(), r.Base+"/graphql", "null", fmt.Sprint("Authorization: Bearer t", token))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	first := open(0)
	before := metric("process_resident_memory_bytes")
	streams := []*http.Response{first}
	for i := 1; i < 200; i++ {
		resp := open(i / 50)
		if resp.StatusCode != 200 {
			t.Fatalf("stream %d: %d", i, resp.StatusCode)
		}
		streams = append(streams, resp)
	}
	after := metric("process_resident_memory_bytes")
	t.Logf("200 streams take %.1f MiB", (after-before)/(1<<20))
	if after-before > 20<<20 {
		t.Errorf("200 streams take %.1f MiB, want 20 at most", (after-before)/(1<<20))
	}

	if n := metric(`siteapi_http_requests_under_way{class="streams"}`); n != 200 {
		t.Errorf("%v streams are counted", n)
	}
	if got := r.Do("GET", "/api/cache/clear", ""); got.Status != 200 {
		t.Errorf("another request: %d %s", got.Status, got.Body)
	}

	began := time.Now()
	if err := r.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, resp := range streams {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the streams ended after %v, not before the others", took)
	}
	if resp := open(1); resp.StatusCode != 503 {
		t.Errorf("a stream while it stops: %d", resp.StatusCode)
	}
	if err := r.Cmd.Wait(); err != nil {
		t.Error(err)
	}
}
