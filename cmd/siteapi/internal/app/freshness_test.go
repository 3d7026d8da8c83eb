package app

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

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/integrations/upstream/faulttest"
)

// publish stores a document of the CMS without a webhook.
func (f *vendorStubs) publish(id, language, title string) {
	f.t.Helper()
	doc := map[string]string{"_id": id, "_type": "heroSection", "language": language, "title": title}
	raw, _ := json.Marshal(doc)
	if _, err := f.cms.Publish(f.t.Context(), raw, sanitytest.Webhook{}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *vendorStubs) unpublish(id string) {
	f.t.Helper()
	if _, err := f.cms.Unpublish(f.t.Context(), id, sanitytest.Webhook{}); err != nil {
		f.t.Fatal(err)
	}
}

// requests counts requests to an API whose body contains a text.
func (f *vendorStubs) requests(api, text string) (n int) {
	for _, r := range f.cms.Requests() {
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
func (f *vendorStubs) watches() {
	f.t.Helper()
	eventually(f.t, "the CMS is watched", func() bool {
		return f.requests("live/events", "") > 0 && f.requests("query", askForChanges) > 0
	})
}

// TestPublishWithoutAWebhook publishes and never tells the service.
func TestPublishWithoutAWebhook(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.published("title-0")
	s := startService(t, stubs.env())
	shows := func(what string, ok func(answer string) bool) time.Duration {
		t.Helper()
		began := time.Now()
		eventually(t, what, func() bool { return ok(string(s.query(askHero, nil).body)) })
		return time.Since(began)
	}
	has := func(title string) func(string) bool {
		return func(answer string) bool { return strings.Contains(answer, title) }
	}

	stubs.watches()
	var took []time.Duration
	for i := range 20 {
		title := fmt.Sprintf("title-%d.", i)
		stubs.publish("h", "es", title)
		took = append(took, shows("an update", has(title)))
	}
	stubs.publish("new", "es", "created")
	took = append(took, shows("a new document", has("created")))
	stubs.unpublish("new")
	took = append(took, shows("a deletion", func(answer string) bool { return !has("created")(answer) }))

	for i := range 200 {
		stubs.publish("h", "es", fmt.Sprintf("burst-%d.", i))
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
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, stubs.env())
	stubs.watches()
	fetches := stubs.requests("query", fetchOfContent)

	eventually(t, "the content is in the cache", func() bool {
		return stubs.requests("query", fetchOfContent) >= 3
	})
	size := func() int {
		var answer struct{ Stats struct{ Size int } }
		if err := json.Unmarshal(s.do("GET", "/api/cache/clear", "").body, &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Stats.Size
	}
	before := size()

	// Storing a lead is such an event, since its document has no language.
	if got := s.through("REST", "submitQuote", map[string]any{"input": validLead("equal")}); got.status != 200 {
		t.Fatalf("submit: %s", got.raw)
	}
	eventually(t, "the content is compared", func() bool {
		return stubs.requests("query", fetchOfContent) >= fetches+3
	})

	time.Sleep(4 * time.Second) // a change would be fetched again after 1 s and 3 s
	if n := stubs.requests("query", fetchOfContent) - fetches; n != 3 {
		t.Errorf("%d fetches for an event without a change, want one for each of three languages", n)
	}
	unchanged := func(when string) {
		if log := s.log.String(); strings.Contains(log, "content changed in the CMS") {
			t.Errorf("%s a change is logged: %s", when, log)
		}
	}
	unchanged("after a lead")
	// The lead's own mails add entries, such as its PDF; none of the content's is gone.
	if after := size(); after < before {
		t.Errorf("the cache has %d entries, had %d", after, before)
	}

	fetches = stubs.requests("query", fetchOfContent)
	s.do("POST", "/api/cache/clear?all=true", "", cacheAuth)
	if got := s.through("REST", "submitQuote", map[string]any{"input": validLead("empty")}); got.status != 200 {
		t.Fatalf("submit: %s", got.raw)
	}
	eventually(t, "the content is compared, and in the cache again", func() bool {
		return stubs.requests("query", fetchOfContent) >= fetches+6
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
			stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
			if refused {
				stubs.cms.Fail(faulttest.Answer(http.StatusServiceUnavailable).On("live/events").Times(-1))
			}
			s := startService(t, stubs.env())
			stubs.watches()
			time.Sleep(2 * time.Second)
			if n := stubs.requests("query", fetchOfContent); n != 3 {
				t.Errorf("%d fetches, want the three of the start", n)
			}

			if refused {
				stubs.publish("h", "es", "asked for")
				began := time.Now()
				eventually(t, "a change without a stream", func() bool {
					return bytes.Contains(s.query(askHero, nil).body, []byte("asked for"))
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
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, stubs.env(map[string]string{"CMS_WATCH": "off"}))
	eventually(t, "the start", func() bool { return stubs.requests("query", fetchOfContent) == 3 })
	stubs.publish("h", "es", "unnoticed")
	time.Sleep(4 * time.Second)
	if stubs.requests("live/events", "")+stubs.requests("query", askForChanges) > 0 {
		t.Error("the CMS is watched")
	}
	if got := s.query(askHero, nil); bytes.Contains(got.body, []byte("unnoticed")) {
		t.Error("the change was noticed")
	}
}

// TestOneInstanceWatches kills the instance that watches: the other takes over, and misses
// nothing.
func TestOneInstanceWatches(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.published("title-0")
	env := stubs.environ(map[string]string{
		"CACHE_URL":    valkeyserver.Start(t).URL(),
		"DATABASE_URL": pgserver.Start(t).URL("postgres"),
	})

	first := launch(t, t.TempDir(), env...)
	stubs.watches()
	second := launch(t, t.TempDir(), env...)
	for i := range 5 {
		title := fmt.Sprintf("both-%d.", i)
		stubs.publish("h", "es", title)
		first.shows(title)
		second.shows(title)
	}
	if n := stubs.requests("live/events", ""); n != 1 {
		t.Errorf("%d streams are open, want 1", n)
	}

	if err := first.end(syscall.SIGKILL); err == nil {
		t.Fatal("the process was not killed")
	}
	stubs.publish("h", "es", "unattended")
	began := time.Now()
	second.shows("unattended")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("a change is seen after %v, want 45s at most", took)
	}
	stubs.publish("h", "es", "attended")
	second.shows("attended")

	third := launch(t, t.TempDir(), env...)
	third.shows("attended")
	if err := second.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	stubs.publish("h", "es", "handed over")
	third.shows("handed over")
}

// TestWatchIsVisible looks for the state of the watch where operators look.
func TestWatchIsVisible(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, stubs.env(map[string]string{"ADMIN_PAGE": "on"}))
	stubs.watches()

	health := `{ serviceHealth { checks { name state detail } } }`
	eventually(t, "the health names the stream", func() bool {
		got := s.query(health, nil, "Authorization: Bearer "+config.DevAdminToken)
		return bytes.Contains(got.body, []byte(`"name":"watch","state":"OK","detail":"by the event stream`))
	})

	families, err := s.app.metrics.Registry.Gather()
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
