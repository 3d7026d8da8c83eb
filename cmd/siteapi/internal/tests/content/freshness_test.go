package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/upstream/faulttest"
	"siteapi/schema"
)

// publish stores a Spanish document in the CMS without sending a webhook.
func publish(f *apptest.Vendors, id, title string) {
	f.T.Helper()
	doc := map[string]string{"_id": id, "_type": "heroSection", "language": "es", "title": title}
	raw, _ := json.Marshal(doc)
	must(f.T, f.CMS.Publish(raw))
}

// requests counts requests to an API whose body contains a string.
func requests(f *apptest.Vendors, api, text string) (n int) {
	for _, r := range f.CMS.Requests() {
		if r.API == api && bytes.Contains(r.Body, []byte(text)) {
			n++
		}
	}
	return n
}

const (
	contentQuery = "in $except"
	changesQuery = "{_id, _rev}"
)

// waitForWatch waits until the service has opened a stream and checked for changes.
func waitForWatch(f *apptest.Vendors) {
	f.T.Helper()
	apptest.Eventually(f.T, "the CMS is watched", func() bool {
		return requests(f, "live/events", "") > 0 && requests(f, "query", changesQuery) > 0
	})
}

// TestPublishWithoutAWebhook publishes without notifying the service.
func TestPublishWithoutAWebhook(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	stubs.Publish("title-0")
	s := apptest.Start(t, stubs.Env()...)
	shows := func(what string, ok func(response string) bool) time.Duration {
		t.Helper()
		began := time.Now()
		apptest.Eventually(t, what, func() bool { return ok(string(s.Query(apptest.AskHero, nil).Body)) })
		return time.Since(began)
	}
	has := func(title string) func(string) bool {
		return func(response string) bool { return strings.Contains(response, title) }
	}

	waitForWatch(stubs)
	if since := apptest.Counter(t, s, "siteapi_content_watch_seconds", map[string]string{"mode": "stream"}); since <= 0 {
		t.Errorf("the metric reports a stream of %v seconds", since)
	}
	var took []time.Duration
	for i := range 20 {
		title := fmt.Sprintf("title-%d.", i)
		publish(stubs, "h", title)
		took = append(took, shows("an update", has(title)))
	}
	publish(stubs, "new", "created")
	took = append(took, shows("a new document", has("created")))
	stubs.CMS.Unpublish("new")
	took = append(took, shows("a deletion", func(response string) bool { return !has("created")(response) }))

	for i := range 200 {
		publish(stubs, "h", fmt.Sprintf("burst-%d.", i))
	}
	took = append(took, shows("the last change of a burst", has("burst-199.")))

	// A single change may be slow on a busy machine, but not the median.
	slices.Sort(took)
	if median := took[len(took)/2]; median > 2*time.Second {
		t.Errorf("the median change is visible after %v, want at most 2s", median)
	}
}

// waitForFetches waits until the service has loaded the content and fetches no more of
// it. It returns the number of fetches.
func waitForFetches(f *apptest.Vendors) (fetches int) {
	f.T.Helper()
	waitForWatch(f)
	apptest.Eventually(f.T, "the content is fetched", func() bool {
		before := fetches
		time.Sleep(3500 * time.Millisecond)
		fetches = requests(f, "query", contentQuery)
		return fetches >= 3 && fetches == before
	})
	return fetches
}

// TestFailedFetchIsRepeated publishes while the CMS fails for longer than the repetitions of
// a change. The service fetches the change as soon as it can, without a reader.
func TestFailedFetchIsRepeated(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	stubs.Publish("before")
	s := apptest.Start(t, stubs.Env("CMS_WATCH=off")...)
	warm(s)

	stubs.CMS.Fail(faulttest.Respond(503).On("query").Times(-1))
	stubs.Publish("after")
	s.ReceiveWebhook()
	failed := map[string]string{"event": "content_watch", "detail": "error"}
	apptest.Eventually(t, "three attempts fail", func() bool {
		return apptest.Counter(t, s, "siteapi_events_total", failed) >= 3
	})
	if cached := size(s); cached >= len(schema.AllLocale) {
		t.Errorf("%d entries are cached while the CMS fails", cached)
	}
	stubs.Recover()
	apptest.Eventually(t, "the changed content is cached", func() bool { return size(s) == len(schema.AllLocale) })
}

// TestEqualContentInvalidatesNothing stores a lead, which is an event of the CMS but
// causes no fetch, and publishes an unchanged document.
func TestEqualContentInvalidatesNothing(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	stubs.Publish("same")
	s := apptest.Start(t, stubs.Env()...)
	fetches := waitForFetches(stubs)
	tag := s.Query(apptest.AskHero, nil).Header.Get("ETag")

	checks := requests(stubs, "query", changesQuery)
	s.Submit("equal")
	apptest.Eventually(t, "the service checks for changes", func() bool {
		return requests(stubs, "query", changesQuery) > checks
	})
	if n := waitForFetches(stubs) - fetches; n != 0 {
		t.Errorf("%d fetches for an event without a change", n)
	}

	raw := json.RawMessage(`{"_id":"h","_type":"heroSection","language":"es","title":"same","_rev":"2"}`)
	must(t, stubs.CMS.Publish(raw))
	want := 3 * len(schema.AllLocale)
	apptest.Eventually(t, "the content is compared twice", func() bool {
		return requests(stubs, "query", contentQuery) >= fetches+want
	})
	if n := waitForFetches(stubs) - fetches; n != want {
		t.Errorf("%d fetches, want %d: three for each language and none to fill the cache", n, want)
	}
	if s.Log.Has("content changed in the CMS") {
		t.Errorf("a change is logged: %s", s.Log)
	}
	if again := s.Query(apptest.AskHero, nil).Header.Get("ETag"); again != tag {
		t.Errorf("the tag is %s, was %s", again, tag)
	}
}

// While the content file is damaged, the last content is served, and Health does not
// describe that as what is published. An entry that is left out is named.
func TestHealthOfADamagedContentFile(t *testing.T) {
	t.Parallel()
	const settings = `{"_id":"siteSettings","_type":"siteSettings","title":"Lumen"}`
	file := filepath.Join(t.TempDir(), "content.json")
	must(t, os.WriteFile(file, []byte("["+settings+"]"), 0o600))
	s := apptest.Start(t, "CMS_FILE="+file, "ADMIN_PAGE=on")

	for text, want := range map[string][]string{
		"[" + settings + ",": {
			`"cms","state":"FAILED","detail":"file: checking the content file: unavailable: line 1`,
			`"content","state":"SKIPPED"`, `"preview","state":"SKIPPED"`, `"prices","state":"SKIPPED"`,
		},
		"[" + settings + "," + settings + "]": {
			`"cms","state":"OK"`, `"content","state":"WARNING","detail":"content file, entry 2: a second document`,
		},
	} {
		must(t, os.WriteFile(file, []byte(text), 0o600))
		got := s.Query(`{ serviceHealth { checks { name state detail } } SiteSettings(id: "siteSettings") { title } }`,
			nil, "Authorization: Bearer "+config.DevAdminToken)
		for _, words := range append(want, `"title":"Lumen"`) {
			if !got.Has(words) {
				t.Errorf("%s: no %s in\n%s", text, words, got.Body)
			}
		}
	}
}
