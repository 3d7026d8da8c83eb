package content

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
)

// wantTitle fails unless an instance serves a title at once.
func wantTitle(r *apptest.Process, title string) {
	r.T.Helper()
	if got := r.Query(apptest.AskHero); !strings.Contains(got, title) {
		r.T.Fatalf("the response is %s, want %q", got, title)
	}
}

// TestFallbackCopyOfServedContent starts an instance on a warm cache. The content that it
// serves from the cache is also its fallback copy when the CMS fails, even after a
// restart. The CMS is not asked again at once, unless the content is invalidated.
func TestFallbackCopyOfServedContent(t *testing.T) {
	t.Parallel()
	valkey, stubs := valkeyserver.Start(t), apptest.NewVendors(t)
	stubs.Publish("first title")
	env := stubs.Env("CACHE_URL="+valkey.URL(), "CMS_WATCH=off")
	a := apptest.Launch(t, t.TempDir(), env...)
	a.Shows("first title")

	dir := t.TempDir()
	b := apptest.Launch(t, dir, env...)
	wantTitle(b, "first title")
	for _, r := range []*apptest.Process{a, b} { // The fetches of the start have ended, and are not counted.
		r.Query(`{ en: content(documentType: "heroSection") { id } ro: content(documentType: "heroSection", locale: ro) { id } }`)
	}

	stubs.FailCMS()
	began, before := time.Now(), len(stubs.CMS.Requests())
	b.InvalidateAll()
	for range 20 {
		wantTitle(b, "first title")
	}
	// One read may begin while the renewal of its locale fails.
	if n, most := len(stubs.CMS.Requests())-before, 1+3*(1+int(time.Since(began)/(3*time.Second))); n == 0 || n > most {
		t.Errorf("20 reads sent %d requests to the CMS, want at most %d", n, most)
	}

	_ = b.End(9)
	b = apptest.Launch(t, dir, env...)
	wantTitle(b, "first title")
	stubs.Recover()
	stubs.Publish("second title")
	b.InvalidateAll()
	wantTitle(b, "second title")
}

// TestWebhooksAtEitherInstance sends webhooks to two instances in turn, before, during
// and after an outage of the CMS, and measures how soon both serve the new content.
func TestWebhooksAtEitherInstance(t *testing.T) {
	t.Parallel()
	valkey, stubs := valkeyserver.Start(t), apptest.NewVendors(t)
	stubs.Publish("title 0")
	env := stubs.Env("CACHE_URL="+valkey.URL(), "CMS_WATCH=off")
	instances := []*apptest.Process{apptest.Launch(t, t.TempDir(), env...), apptest.Launch(t, t.TempDir(), env...)}

	for _, r := range instances {
		r.Shows("title 0")
	}

	served := "title 0"
	var took []time.Duration
	for i := range 12 {
		title, down := fmt.Sprintf("title %d", i+1), i == 2 || i == 3
		if down {
			stubs.FailCMS()
		}

		stubs.Publish(title)
		if !down {
			stubs.Recover()
			served = title
		}

		instances[i%2].ReceiveWebhook()
		began := time.Now()
		wantTitle(instances[i%2], served) // the first response after the webhook

		for _, r := range instances {
			r.Shows(served)
		}
		if !down {
			took = append(took, time.Since(began))
		}
	}

	// A single webhook may take effect slowly on a busy machine, but not the median.
	slices.Sort(took)
	if median := took[len(took)/2]; median > time.Second {
		t.Errorf("the median webhook takes effect after %v, want at most a second", median)
	}
}
