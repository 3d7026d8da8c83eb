package sanity_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/upstream/faulttest"
)

const streams = "live/events"

// watcher is a driver that watches a stub and fetches the content after each change.
type watcher struct {
	t      *testing.T
	stub   *sanitytest.Server
	driver *sanity.Driver
	title  atomic.Value // title of the document; empty if there is none
}

// watch starts a watch that is a hundred times as fast as the service's.
func watch(t *testing.T, opts sanitytest.Options, faults ...faulttest.Fault) *watcher {
	t.Helper()
	w := &watcher{t: t, stub: start(t, opts, page("first"))}
	w.driver = driver(t, w.stub, sanity.Options{})
	w.driver.SpeedUp()
	w.stub.Fail(faults...)
	w.title.Store("")

	go w.driver.Watch(t.Context(), pageQuery.Types, func() {
		if docs, err := w.driver.Fetch(t.Context(), pageQuery); err == nil {
			var fields struct{ Title string }
			for _, doc := range docs {
				_ = json.Unmarshal(doc.Fields, &fields)
			}
			w.title.Store(fields.Title)
		}
	})
	w.until("a change before the watch", func() bool { return w.title.Load() == "first" })
	return w
}

func page(title string) string { return fmt.Sprintf(`{"_id":"a","_type":"page","title":%q}`, title) }

// publish publishes a title and waits until it is fetched.
func (w *watcher) publish(title string) {
	w.t.Helper()
	if err := w.stub.Publish(json.RawMessage(page(title))); err != nil {
		w.t.Fatal(err)
	}
	w.until(title, func() bool { return w.title.Load() == title })
}

// unpublish removes the document and waits until the fetched content is empty.
func (w *watcher) unpublish() {
	w.t.Helper()
	w.stub.Unpublish("a")
	w.until("a deletion", func() bool { return w.title.Load() == "" })
}

func (w *watcher) mode(mode string) {
	w.t.Helper()
	w.until("the mode "+mode, func() bool { return w.driver.Watching().Mode == mode })
}

func (w *watcher) until(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within a minute, state %+v", what, w.driver.Watching())
		}
	}
}

// TestStreamEnds checks that the driver reconnects to a stream that ended, and polls for
// the changes in between.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for event, refusals := range map[string]int{"": 3, "reconnect": 0, "goaway": 0} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			w := watch(t, sanitytest.Options{})
			for i := range 3 {
				w.mode(cms.WatchStream)
				if refusals > 0 && i > 0 { // The first time the stream is only cut.
					w.stub.Fail(faulttest.Respond(500).On(streams).Times(refusals))
				}
				w.stub.EndStreams(event)
				w.publish(fmt.Sprint("title ", i))
			}
			w.mode(cms.WatchStream)
		})
	}
}

// TestWatchWithoutAStream checks that the driver polls if the stream does not work.
func TestWatchWithoutAStream(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faulttest.Fault{
		"refused": faulttest.Respond(500),
		"a page":  faulttest.Page(200),
		"hanging": faulttest.Of(faulttest.Hang),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, sanitytest.Options{}, fault.On(streams).Times(-1))
			w.until("a reason", func() bool { return w.driver.Watching().Reason != "connecting" })
			w.mode(cms.WatchAsking)
			w.publish("second")
			w.unpublish() // leaves no newer document behind

			w.stub.Recover()
			w.mode(cms.WatchStream)
		})
	}
}

// TestSilentStream checks that the driver detects a silent stream, and polls for the
// changes that were not reported.
func TestSilentStream(t *testing.T) {
	t.Parallel()
	w := watch(t, sanitytest.Options{})
	w.mode(cms.WatchStream)
	w.stub.Silence(true)
	w.publish("second")
	w.mode(cms.WatchAsking)
	w.stub.Silence(false)
	w.mode(cms.WatchStream)
}

// TestIndexThatLagsBehind covers queries that do not include a change unless they name
// its event. It also checks that the public stream is requested without the token.
func TestIndexThatLagsBehind(t *testing.T) {
	t.Parallel()
	w := watch(t, sanitytest.Options{IndexLags: true})
	w.mode(cms.WatchStream)
	w.publish("second")
	w.unpublish()

	for _, r := range w.stub.Requests() {
		if r.API == streams && r.Auth != "none" {
			t.Error("the stream was requested with the token")
		}
	}
}
