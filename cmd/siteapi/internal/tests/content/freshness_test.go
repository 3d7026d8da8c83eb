package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/integrations/upstream/faulttest"
)

// publish stores a document of the CMS without a webhook.
func publish(f *apptest.Vendors, id, language, title string) {
	f.T.Helper()
	doc := map[string]string{"_id": id, "_type": "heroSection", "language": language, "title": title}
	raw, _ := json.Marshal(doc)
	if _, err := f.CMS.Publish(f.T.Context(), raw, sanitytest.Webhook{}); err != nil {
		f.T.Fatal(err)
	}
}

func unpublish(f *apptest.Vendors, id string) {
	f.T.Helper()
	if _, err := f.CMS.Unpublish(f.T.Context(), id, sanitytest.Webhook{}); err != nil {
		f.T.Fatal(err)
	}
}

// requests counts requests to an API whose body contains a text.
func requests(f *apptest.Vendors, api, text string) (n int) {
	for _, r := range f.CMS.Requests() {
		if r.API == api && bytes.Contains(r.Body, []byte(text)) {
			n++
		}
	}
	return n
}

const (
	fetchOfContent = "language == $locale"
	askForChanges  = "_id, _type, _rev"
)

// watches waits until a stream was opened and its check was made.
func watches(f *apptest.Vendors) {
	f.T.Helper()
	apptest.Eventually(f.T, "the CMS is watched", func() bool {
		return requests(f, "live/events", "") > 0 && requests(f, "query", askForChanges) > 0
	})
}

// TestPublishWithoutAWebhook publishes and never tells the service.
func TestPublishWithoutAWebhook(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.Published("title-0")
	s := apptest.Start(t, stubs.Env())
	shows := func(what string, ok func(answer string) bool) time.Duration {
		t.Helper()
		began := time.Now()
		apptest.Eventually(t, what, func() bool { return ok(string(s.Query(apptest.AskHero, nil).Body)) })
		return time.Since(began)
	}
	has := func(title string) func(string) bool {
		return func(answer string) bool { return strings.Contains(answer, title) }
	}

	watches(stubs)
	var took []time.Duration
	for i := range 20 {
		title := fmt.Sprintf("title-%d.", i)
		publish(stubs, "h", "es", title)
		took = append(took, shows("an update", has(title)))
	}
	publish(stubs, "new", "es", "created")
	took = append(took, shows("a new document", has("created")))
	unpublish(stubs, "new")
	took = append(took, shows("a deletion", func(answer string) bool { return !has("created")(answer) }))

	for i := range 200 {
		publish(stubs, "h", "es", fmt.Sprintf("burst-%d.", i))
	}
	took = append(took, shows("the last change of a burst", has("burst-199.")))

	// One may be slow on a busy machine, the median may not.
	slices.Sort(took)
	if median := took[len(took)/2]; median > 2*time.Second {
		t.Errorf("a change is seen after %v, want 2s at most", median)
	}
}

// TestEqualContentChangesNothing lets the CMS report changes that leave the content as it was.
func TestEqualContentChangesNothing(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	s := apptest.Start(t, stubs.Env())
	watches(stubs)
	fetches := requests(stubs, "query", fetchOfContent)

	apptest.Eventually(t, "the content is in the cache", func() bool {
		return requests(stubs, "query", fetchOfContent) >= 3
	})
	size := func() int {
		var answer struct{ Stats struct{ Size int } }
		if err := json.Unmarshal(s.Do("GET", "/api/cache/clear", "").Body, &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Stats.Size
	}
	before := size()

	// Storing a lead is such an event, since its document has no language.
	if got := s.Through("REST", "submitQuote", map[string]any{"input": apptest.ValidLead("equal")}); got.Status != 200 {
		t.Fatalf("submit: %s", got.Raw)
	}
	apptest.Eventually(t, "the content is compared", func() bool {
		return requests(stubs, "query", fetchOfContent) >= fetches+3
	})

	time.Sleep(4 * time.Second) // a change would be fetched again after 1 s and 3 s
	if n := requests(stubs, "query", fetchOfContent) - fetches; n != 3 {
		t.Errorf("%d fetches for an event without a change, want one for each of three languages", n)
	}
	unchanged := func(when string) {
		if log := s.Log.String(); strings.Contains(log, "content changed in the CMS") {
			t.Errorf("%s a change is logged: %s", when, log)
		}
	}
	unchanged("after a lead")
	// The lead's own mails add entries, such as its PDF; none of the content's is gone.
	if after := size(); after < before {
		t.Errorf("the cache has %d entries, had %d", after, before)
	}

	fetches = requests(stubs, "query", fetchOfContent)
	s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth)
	if got := s.Through("REST", "submitQuote", map[string]any{"input": apptest.ValidLead("empty")}); got.Status != 200 {
		t.Fatalf("submit: %s", got.Raw)
	}
	apptest.Eventually(t, "the content is compared, and in the cache again", func() bool {
		return requests(stubs, "query", fetchOfContent) >= fetches+6
	})
	time.Sleep(time.Second) // a change is logged when it is in the cache
	unchanged("with an empty cache")
}

// TestWatchWithoutAChange lets a service watch for some time: it fetches nothing.
func TestWatchWithoutAChange(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"stream": false, "asking": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
			if refused {
				stubs.CMS.Fail(faulttest.Answer(http.StatusServiceUnavailable).On("live/events").Times(-1))
			}
			s := apptest.Start(t, stubs.Env())
			watches(stubs)
			time.Sleep(2 * time.Second)
			if n := requests(stubs, "query", fetchOfContent); n != 3 {
				t.Errorf("%d fetches, want the three of the start", n)
			}

			if refused {
				publish(stubs, "h", "es", "asked for")
				began := time.Now()
				apptest.Eventually(t, "a change without a stream", func() bool {
					return bytes.Contains(s.Query(apptest.AskHero, nil).Body, []byte("asked for"))
				})
				if took := time.Since(began); took > time.Minute {
					t.Errorf("a change is seen after %v, want 45s at most", took)
				}
			}
		})
	}
}

// TestWatchOff leaves the CMS alone.
func TestWatchOff(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	s := apptest.Start(t, stubs.Env(map[string]string{"CMS_WATCH": "off"}))
	apptest.Eventually(t, "the start", func() bool { return requests(stubs, "query", fetchOfContent) == 3 })
	publish(stubs, "h", "es", "unnoticed")
	time.Sleep(4 * time.Second)
	if requests(stubs, "live/events", "")+requests(stubs, "query", askForChanges) > 0 {
		t.Error("the CMS is watched")
	}
	if got := s.Query(apptest.AskHero, nil); bytes.Contains(got.Body, []byte("unnoticed")) {
		t.Error("the change was noticed")
	}
}

// TestOneInstanceWatches kills the instance that watches: the other takes over, and misses
// nothing.
func TestOneInstanceWatches(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.Published("title-0")
	env := stubs.Environ(map[string]string{
		"CACHE_URL":    valkeyserver.Start(t).URL(),
		"DATABASE_URL": pgserver.Start(t).URL("postgres"),
	})

	first := apptest.Launch(t, t.TempDir(), env...)
	watches(stubs)
	second := apptest.Launch(t, t.TempDir(), env...)
	for i := range 5 {
		title := fmt.Sprintf("both-%d.", i)
		publish(stubs, "h", "es", title)
		first.Shows(title)
		second.Shows(title)
	}
	if n := requests(stubs, "live/events", ""); n != 1 {
		t.Errorf("%d streams are open, want 1", n)
	}

	if err := first.End(syscall.SIGKILL); err == nil {
		t.Fatal("the process was not killed")
	}
	publish(stubs, "h", "es", "unattended")
	began := time.Now()
	second.Shows("unattended")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("a change is seen after %v, want 45s at most", took)
	}
	publish(stubs, "h", "es", "attended")
	second.Shows("attended")

	third := apptest.Launch(t, t.TempDir(), env...)
	third.Shows("attended")
	if err := second.End(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	publish(stubs, "h", "es", "handed over")
	third.Shows("handed over")
}

// TestWatchIsVisible looks for the state of the watch where operators look.
func TestWatchIsVisible(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	s := apptest.Start(t, stubs.Env(map[string]string{"ADMIN_PAGE": "on"}))
	watches(stubs)

	health := `{ serviceHealth { checks { name state detail } } }`
	apptest.Eventually(t, "the health names the stream", func() bool {
		got := s.Query(health, nil, "Authorization: Bearer "+config.DevAdminToken)
		return bytes.Contains(got.Body, []byte(`"name":"watch","state":"OK","detail":"by the event stream`))
	})

	families, err := s.App.Metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, f := range families {
		seen[f.GetName()] = f.GetMetric()[0].String()
	}
	if !strings.Contains(seen["siteapi_content_watch_seconds"], "stream") ||
		seen["siteapi_content_watch_heard_seconds"] == "" {
		t.Errorf("metrics: %v", seen)
	}
}
