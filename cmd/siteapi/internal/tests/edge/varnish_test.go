package edge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

// relay forwards requests, counts them, and can be down.
type relay struct {
	url  string
	to   atomic.Pointer[url.URL]
	n    atomic.Int64
	down atomic.Bool
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	r := &relay{}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(r.to.Load()) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.n.Add(1)
		if r.down.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func (r *relay) pointTo(t *testing.T, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	r.to.Store(u)
}

// varnish starts Varnish with deploy/varnish.vcl in front of a backend, and returns the
// address of Varnish.
func varnish(t *testing.T, backend string) string {
	t.Helper()
	vcl := apptest.File(t, "cmd/siteapi/deploy/varnish.vcl")
	_, port, _ := strings.Cut(strings.TrimPrefix(backend, "http://"), ":")
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "siteapi.vcl")
	text := strings.Replace(vcl, `.port = "8080"`, fmt.Sprintf(".port = %q", port), 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	// Without its modules Varnish cannot compile the file.
	compile := exec.CommandContext(t.Context(), "varnishd", "-C", "-j", "none", "-n", dir, "-f", file)
	if out, err := compile.CombinedOutput(); err != nil {
		apptest.SkipWithout(t, fmt.Errorf("varnishd with its modules: %w: %.600s", err, out))
	}

	address := apptest.FreeAddress(t)
	apptest.Serve(t, address, []string{"CDN_PURGE_TOKEN=purge-token"}, "varnishd", "-F", "-j", "none",
		"-n", dir, "-a", address, "-f", file, "-s", "default,32m", "-p", "thread_pools=1")
	return "http://" + address
}

// edgeTrial is a service behind Varnish.
type edgeTrial struct {
	*apptest.Service
	vendors *apptest.Vendors
	edge    *apptest.Client // reads through Varnish
	reads   *relay          // between Varnish and the service
	purges  *relay          // between the service and Varnish
}

func newEdgeTrial(t *testing.T) *edgeTrial {
	t.Helper()
	e := &edgeTrial{reads: newRelay(t), purges: newRelay(t)}
	address := varnish(t, e.reads.url)
	e.purges.pointTo(t, address)

	e.vendors = apptest.NewVendors(t)
	e.vendors.Publish("title 0")
	e.Service = apptest.Start(t, e.vendors.Env(
		"CDN_MAX_AGE=1h",
		"CDN_PURGE_URL="+e.purges.url,
		"CDN_PURGE_KIND=varnish",
		"CDN_PURGE_TOKEN=purge-token",
	)...)
	e.reads.pointTo(t, e.Base)
	e.edge = &apptest.Client{T: t, Base: address}
	e.shows("title 0")
	return e
}

var heroPath = getPath(apptest.AskHero)

// publish publishes a title, as an editor does.
func (e *edgeTrial) publish(title string) {
	e.T.Helper()
	e.vendors.Publish(title)
	e.ReceiveWebhook()
}

// shows waits until the edge serves a title, and returns how long that took.
func (e *edgeTrial) shows(title string) time.Duration {
	e.T.Helper()
	began := time.Now()
	apptest.Eventually(e.T, title+" is at the edge", func() bool {
		return e.edge.Do("GET", heroPath, "").Has(`"` + title + `"`)
	})
	return time.Since(began)
}

// settled waits until no notification is pending, and a title is at the edge.
func (e *edgeTrial) settled(title string) {
	e.T.Helper()
	settled(e.Service)
	e.shows(title)
}

// reaching returns how many of the requests that ask sends n times reached the service.
func (e *edgeTrial) reaching(n int, ask func()) int64 {
	before := e.reads.n.Load()
	for range n {
		ask()
	}
	return e.reads.n.Load() - before
}

// TestEdgeAnswersReaders puts a real Varnish in front of the service.
func TestEdgeAnswersReaders(t *testing.T) {
	t.Parallel()
	e := newEdgeTrial(t)
	e.settled("title 0")
	var etag string
	if n := e.reaching(1000, func() {
		got := e.edge.Do("GET", heroPath, "")
		etag = got.Header.Get("ETag")
		if got.Status != 200 || got.Header.Get("Access-Control-Allow-Origin") != "*" || shared(got.Header) != "" ||
			got.Header.Get("Cache-Control") != "public, max-age=0, must-revalidate" || got.Header.Get("Age") != "" {
			t.Fatalf("%d %v", got.Status, got.Header)
		}
	}); n > 10 {
		t.Errorf("%d of 1,000 reads reached the service", n)
	}
	if got := e.edge.Do("GET", heroPath, "", "If-None-Match: "+etag); got.Status != 304 {
		t.Errorf("revalidating a browser's copy: %d", got.Status)
	}

	// Private responses are never cached. A path that looks like an asset is cached only if
	// this version of the service has the asset. A query string with such a path is not cached
	// either.
	for what, ask := range map[string]func(){
		"private":       func() { e.edge.Do("GET", heroPath, "", "Authorization: Bearer dev-admin-token") },
		"cache":         func() { e.edge.Do("GET", "/api/cache/clear", "") },
		"POST":          func() { e.edge.Query(apptest.AskHero, nil) },
		"query":         func() { e.edge.Do("GET", "/api/cache/clear?x=/assets/", "") },
		"missing asset": func() { e.edge.Do("GET", "/calculator/assets/missing.js", "") },
	} {
		if n := e.reaching(3, ask); n != 3 {
			t.Errorf("%s: %d of 3 requests reached the service", what, n)
		}
	}

	// A publication is visible within two seconds. Only the fastest counts, because one
	// may be slow on a busy machine.
	fastest, cached := time.Hour, "title 0"
	for i := range 3 {
		settled(e.Service)
		time.Sleep(2 * time.Second) // not part of a burst
		e.shows(cached)             // cached from now on
		cached = fmt.Sprintf("lone %d", i)
		e.publish(cached)
		fastest = min(fastest, e.shows(cached))
	}
	if t.Logf("a single publication is at the edge after %v", fastest); fastest > 2*time.Second {
		t.Errorf("a single publication is at the edge after %v, want at most 2s", fastest)
	}

	for _, token := range []string{"Authorization: ", "Authorization: Bearer wrong"} {
		if got := e.edge.Do("PURGE", "/", "", token, "Cache-Tag: content:locale:es"); got.Status != 403 {
			t.Errorf("a purge with %q: %d", token, got.Status)
		}
	}
}

// TestEdgeDuringOutages interrupts the purges, then the connection to the service.
func TestEdgeDuringOutages(t *testing.T) {
	t.Parallel()
	e := newEdgeTrial(t)
	e.settled("title 0") // cached from now on

	e.purges.down.Store(true)
	e.publish("while it was down")
	time.Sleep(8 * time.Second)
	if got := e.edge.Do("GET", heroPath, ""); !got.Has("title 0") {
		t.Errorf("without a purge: %s", got.Body)
	}
	e.purges.down.Store(false)
	if took := e.shows("while it was down"); took > 30*time.Second {
		t.Errorf("the edge was up to date only %v after purges worked again", took)
	}
	e.settled("while it was down")

	e.reads.down.Store(true)
	e.edge.Do("PURGE", "/", "", "Authorization: Bearer purge-token", "Cache-Tag: content:locale:es")
	for range 3 {
		if got := e.edge.Do("GET", heroPath, ""); !got.Is(200, "while it was down") {
			t.Errorf("while the service is down: %s", got)
		}
	}
	if got := e.edge.Do("GET", getPath(`{ __typename }`), ""); got.Status != 503 {
		t.Errorf("an uncached document while the service is down: %d", got.Status)
	}
	e.reads.down.Store(false)
	e.publish("after the outage")
	e.shows("after the outage")
}
