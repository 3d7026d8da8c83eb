package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream/faulttest"
)

// published makes a title the whole content of the CMS.
func (f *vendorStubs) published(title string) {
	f.t.Helper()
	doc := fmt.Sprintf(`{"_id":"h","_type":"heroSection","language":"es","title":%q}`, title)
	if err := f.cms.Replace(json.RawMessage(doc)); err != nil {
		f.t.Fatal(err)
	}
}

// cmsDown lets the CMS fail until the stubs recover.
func (f *vendorStubs) cmsDown() {
	f.cms.Fail(faulttest.Answer(http.StatusInternalServerError).Times(-1))
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

// TestFallbackCopyOfWhatWasServed starts an instance on a warm cache. The content that it
// served from there is its fallback copy once the CMS fails, also after a restart.
func TestFallbackCopyOfWhatWasServed(t *testing.T) {
	t.Parallel()
	valkey, stubs := valkeyserver.Start(t), newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.published("first title")
	env := stubs.environ(map[string]string{"CACHE_URL": valkey.URL()})
	launch(t, t.TempDir(), env...).shows("first title")

	dir := t.TempDir()
	b := launch(t, dir, env...)
	b.serves("first title")

	stubs.cmsDown()
	b.invalidateAll()
	for range 3 {
		b.serves("first title")
	}
	if !slices.ContainsFunc(stubs.cms.Requests(), func(r sanitytest.Request) bool { return r.Fault != "" }) {
		t.Error("the CMS was not asked")
	}

	_ = b.end(9)
	launch(t, dir, env...).serves("first title")
}

// TestContentFileOfARestart changes the content file while the service is stopped. The cache
// still holds the content from before.
func TestContentFileOfARestart(t *testing.T) {
	t.Parallel()
	valkey, dir := valkeyserver.Start(t), t.TempDir()
	path := filepath.Join(dir, "own.json")
	write := func(title string) {
		text := fmt.Sprintf(`[{"_id":"h","_type":"heroSection","language":"es","title":%q}]`, title)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"CACHE_URL=" + valkey.URL(), "CMS_FILE=" + path, "CONTENT_TTL=1d"}

	write("first title")
	first := launch(t, dir, env...)
	first.shows("first title")
	_ = first.end(syscall.SIGTERM)

	write("second title")
	launch(t, dir, env...).shows("second title")
}

// TestWebhooksAtEitherInstance publishes through webhooks at one or the other of two
// instances, while the CMS works, while it fails and after that.
func TestWebhooksAtEitherInstance(t *testing.T) {
	t.Parallel()
	valkey, stubs := valkeyserver.Start(t), newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.published("title 0")
	env := stubs.environ(map[string]string{"CACHE_URL": valkey.URL()})
	instances := []*running{launch(t, t.TempDir(), env...), launch(t, t.TempDir(), env...)}

	for _, r := range instances {
		r.shows("title 0")
	}

	served := "title 0"
	for i := range 6 {
		title, down := fmt.Sprintf("title %d", i+1), i == 2 || i == 3
		if down {
			stubs.cmsDown()
		}

		stubs.published(title)
		if !down {
			stubs.recover()
			served = title
		}

		got := instances[i%2].do("POST", "/api/webhooks/cms",
			`{"_id":"h","_type":"heroSection","language":"es"}`, hookAuth)
		if got.status != 200 {
			t.Fatalf("webhook %d: %d %s", i, got.status, got.body)
		}

		for _, r := range instances {
			r.shows(served)
		}
	}
}
