package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"siteapi/integrations/cache/cachetest/valkeyserver"
)

// stubCMS answers Sanity's query API with one document, or with 500 while it is down.
type stubCMS struct {
	*httptest.Server
	title  atomic.Value // string
	down   atomic.Bool
	failed atomic.Int64 // requests answered with 500
}

func startStubCMS(t *testing.T, title string) *stubCMS {
	t.Helper()
	s := &stubCMS{}
	s.title.Store(title)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if s.down.Load() {
			s.failed.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"result":[{"_id":"h","_type":"heroSection","language":"es","title":%q}]}`, s.title.Load())
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stubCMS) env(cacheURL string) []string {
	return []string{
		"CACHE_URL=" + cacheURL, "CMS_DRIVER=sanity", "SANITY_PROJECT_ID=p", "SANITY_TOKEN=t", "SANITY_API_URL=" + s.URL,
		"DELIVERY_RATE=0",
	}
}

// serves fails the test unless an instance serves a title at once.
func (r *running) serves(title string) {
	r.t.Helper()
	if got := r.query(askHero); !strings.Contains(got, title) {
		r.t.Fatalf("the answer is %s, want %q", got, title)
	}
}

// shows waits until an instance serves a title.
func (r *running) shows(title string) {
	r.t.Helper()
	eventually(r.t, title+" is served", func() bool { return strings.Contains(r.query(askHero), title) })
}

func (r *running) invalidateAll() {
	r.t.Helper()
	if got := r.do("POST", "/api/cache/invalidate", `{"type":"all"}`, cacheAuth); got.status != 200 {
		r.t.Fatalf("invalidating: %d %s", got.status, got.body)
	}
}

// TestFallbackCopyOfWhatWasServed starts an instance on a warm cache. What it served from
// there is its fallback copy once the CMS fails, also after a restart.
func TestFallbackCopyOfWhatWasServed(t *testing.T) {
	t.Parallel()
	valkey, cms := valkeyserver.Start(t), startStubCMS(t, "first title")
	env := cms.env(valkey.URL())
	launch(t, t.TempDir(), env...).shows("first title")
	dir := t.TempDir()
	b := launch(t, dir, env...)
	b.serves("first title")
	cms.down.Store(true)
	b.invalidateAll()
	for range 3 {
		b.serves("first title")
	}
	if cms.failed.Load() == 0 {
		t.Error("the CMS was not asked")
	}
	_ = b.end(9)
	launch(t, dir, env...).serves("first title")
}

// TestWebhooksAtEitherInstance publishes through webhooks at one or the other of two
// instances, while the CMS works, while it fails and after that.
func TestWebhooksAtEitherInstance(t *testing.T) {
	t.Parallel()
	valkey, cms := valkeyserver.Start(t), startStubCMS(t, "title 0")
	env := cms.env(valkey.URL())
	instances := []*running{launch(t, t.TempDir(), env...), launch(t, t.TempDir(), env...)}
	for _, r := range instances {
		r.shows("title 0")
	}
	served := "title 0"
	for i := range 6 {
		published := fmt.Sprintf("title %d", i+1)
		cms.title.Store(published)
		cms.down.Store(i == 2 || i == 3)
		got := instances[i%2].do("POST", "/api/webhooks/cms", `{"_id":"h","_type":"heroSection","language":"es"}`, hookAuth)
		if got.status != 200 {
			t.Fatalf("webhook %d: %d %s", i, got.status, got.body)
		}
		if !cms.down.Load() {
			served = published
		}
		for _, r := range instances {
			r.shows(served)
		}
	}
}
