package sanity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/upstream/faulttest"
)

var watched = cms.Scope{Types: []string{"page"}, Locales: []string{"en", "es"}}

// watcher is a driver that watches a stub, and a reader that fetches what is reported.
type watcher struct {
	t      *testing.T
	stub   *sanitytest.Server
	driver *sanity.Driver
	stop   func()

	mu       sync.Mutex
	reported int
	titles   map[string]string // by locale, of all documents
}

// watch watches a hundred times as fast as the service does.
func watch(t *testing.T, opts sanitytest.Options, faults ...faulttest.Fault) *watcher {
	t.Helper()
	stub := start(t, opts, page("a", "", "first"))
	d := driver(t, stub, sanity.Options{})
	d.Hurry()
	return watchWith(t, stub, d, faults...)
}

func watchWith(
	t *testing.T, stub *sanitytest.Server, d *sanity.Driver, faults ...faulttest.Fault,
) *watcher {
	t.Helper()
	w := &watcher{t: t, stub: stub, driver: d, titles: map[string]string{}}
	w.changed(watched.Locales) // the service fetches before it watches
	w.reported = 0
	w.stub.Fail(faults...)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		_ = w.driver.Watch(ctx, watched, w.changed)
		close(ended)
	}()
	w.stop = func() { cancel(); <-ended }
	t.Cleanup(w.stop)
	return w
}

// changed fetches the locales that the driver reports.
func (w *watcher) changed(locales []string) {
	for _, locale := range locales {
		docs, err := w.driver.Fetch(w.t.Context(), watched.Query(locale))
		if err != nil {
			continue
		}
		var titles []string
		for _, doc := range docs {
			var fields struct{ Title string }
			_ = json.Unmarshal(doc.Fields, &fields)
			titles = append(titles, fields.Title)
		}
		w.mu.Lock()
		w.reported++
		w.titles[locale] = strings.Join(titles, " ")
		w.mu.Unlock()
	}
}

func page(id, language, title string) string {
	doc := map[string]any{"_id": id, "_type": "page", "title": title}
	if language != "" {
		doc["language"] = language
	}
	text, _ := json.Marshal(doc)
	return string(text)
}

func (w *watcher) publish(id, language, title string) {
	w.t.Helper()
	doc := json.RawMessage(page(id, language, title))
	if _, err := w.stub.Publish(w.t.Context(), doc, sanitytest.Webhook{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watcher) unpublish(id string) {
	w.t.Helper()
	if _, err := w.stub.Unpublish(w.t.Context(), id, sanitytest.Webhook{}); err != nil {
		w.t.Fatal(err)
	}
}

// shows waits until the reader has the titles of a locale.
func (w *watcher) shows(locale, titles string) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s: %q", locale, titles), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.titles[locale] == titles
	})
}

func (w *watcher) mode(mode string) {
	w.t.Helper()
	w.until("the mode "+mode, func() bool { return w.driver.Watching().Mode == mode })
}

func (w *watcher) until(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within a minute, reports: %v, state %+v", what, w.titles, w.driver.Watching())
		}
	}
}

// fetches returns how many locales were fetched because they were reported.
func (w *watcher) fetches() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reported
}

// requests counts the stub's requests with a text in path or body.
func (w *watcher) requests(text string) (n int) {
	for _, r := range w.stub.Requests() {
		if strings.Contains(r.Path+string(r.Body), text) {
			n++
		}
	}
	return n
}

const (
	streams = "live/events"
	checks  = "_id, _type, _rev"
)

// The counts are exact only at the usual pace, at which the checks after the start are over
// before the first change, and no other is due.
func TestStreamReportsTheLocalesConcerned(t *testing.T) {
	t.Parallel()
	stub := start(t, sanitytest.Options{}, page("a", "", "first"))
	w := watchWith(t, stub, driver(t, stub, sanity.Options{}))
	w.mode(cms.WatchStream)
	w.until("the check of the start", func() bool { return w.requests(checks) > 0 })
	time.Sleep(time.Second) // until that of the connection is over too, unless one was for both
	settled := w.requests(checks)

	w.publish("b", "es", "hola")
	w.shows("es", "first hola")
	w.publish("b", "es", "adiós")
	w.shows("es", "first adiós")
	if n := w.fetches(); n != 2 {
		t.Errorf("%d fetches for two changes in one language, want 2", n)
	}

	w.publish("a", "", "second")
	w.shows("en", "second")
	w.shows("es", "second adiós")
	w.unpublish("a")
	w.shows("en", "")
	w.shows("es", "adiós")

	before := w.fetches()
	w.publish("c", "ro", "salut") // in a language that is not watched
	w.publish("drafts.a", "", "draft")
	w.publish("b", "es", "last")
	w.shows("es", "last")
	if n := w.fetches() - before; n != 1 {
		t.Errorf("%d fetches, want 1 for the one change that concerns the site", n)
	}
	if n := w.requests(checks) - settled; n != 0 || settled > 2 {
		t.Errorf("%d checks, and %d more on one connection, want none", settled, n)
	}
}

// A stream that ends is taken up where it ended.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*sanitytest.Server){
		"cut":       (*sanitytest.Server).CutStreams,
		"reconnect": (*sanitytest.Server).Reconnect,
		"away":      (*sanitytest.Server).SendAway,
		"refused": func(s *sanitytest.Server) {
			s.Fail(faulttest.Answer(500).On(streams).Times(3))
			s.CutStreams()
		},
		"lost events": func(s *sanitytest.Server) { s.ForgetEvents(); s.CutStreams() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, sanitytest.Options{})
			w.mode(cms.WatchStream)
			w.publish("a", "", "second")
			w.shows("en", "second")
			w.until("the check of the connection", func() bool { return w.requests(checks) >= 1 })

			for i := range 5 {
				end(w.stub)
				w.publish("a", "", fmt.Sprint("title ", i))
				w.shows("en", fmt.Sprint("title ", i))
			}
			w.until("a connection", func() bool {
				w.publish("a", "", time.Now().String())
				return w.driver.Watching().Mode == cms.WatchStream
			})
		})
	}
}

// Without a stream that works the driver asks.
func TestWatchWithoutAStream(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faulttest.Fault{
		"refused":   faulttest.Answer(http.StatusInternalServerError),
		"forbidden": faulttest.Answer(http.StatusForbidden),
		"missing":   faulttest.Answer(http.StatusNotFound),
		"a page":    faulttest.Page(http.StatusOK),
		"hanging":   faulttest.Of(faulttest.Hang),
		"dripping":  faulttest.Of(faulttest.Drip),
		"reset":     faulttest.Of(faulttest.Reset),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, sanitytest.Options{}, fault.On(streams).Times(-1))
			w.publish("a", "", "second")
			w.shows("en", "second")
			w.publish("b", "es", "hola")
			w.shows("es", "second hola")
			w.mode(cms.WatchAsking)
			if w.driver.Watching().Reason == "" {
				t.Error("the state gives no reason")
			}

			// A deletion leaves no newer document behind.
			w.unpublish("a")
			w.shows("en", "")
			w.shows("es", "hola")

			before := w.fetches()
			asked := w.requests(checks)
			w.until("more checks", func() bool { return w.requests(checks) > asked+2 })
			if n := w.fetches() - before; n != 0 {
				t.Errorf("%d fetches without a change", n)
			}

			w.stub.Recover()
			w.stub.CutStreams()
			if name != "hanging" && name != "dripping" {
				w.mode(cms.WatchStream)
			}
		})
	}
}

// A stream that falls silent is noticed, and what it did not say is asked for.
func TestSilentStream(t *testing.T) {
	t.Parallel()
	w := watch(t, sanitytest.Options{})
	w.mode(cms.WatchStream)
	w.stub.Silence(true)
	w.publish("a", "", "second")
	w.shows("en", "second")
	w.mode(cms.WatchAsking)
	w.publish("a", "", "third")
	w.shows("en", "third")
	w.stub.Silence(false)
	w.mode(cms.WatchStream)
}

// Queries show a change later than its event, unless they name the event.
func TestIndexThatLagsBehind(t *testing.T) {
	t.Parallel()
	w := watch(t, sanitytest.Options{IndexLag: time.Hour})
	w.mode(cms.WatchStream)
	for i := range 3 {
		w.publish("a", "", fmt.Sprint("title ", i))
		w.shows("en", fmt.Sprint("title ", i))
	}
	w.unpublish("a")
	w.shows("en", "")
}

// Many changes at once, failing requests and cut streams lose nothing.
func TestBurstOverAnUnreliableStream(t *testing.T) {
	t.Parallel()
	w := watch(t, sanitytest.Options{})
	w.mode(cms.WatchStream)
	w.stub.FailRandomly(0.2, 1, faulttest.Of(faulttest.Reset).On(streams))
	var want []string
	for i := range 200 {
		id := fmt.Sprintf("p%03d", i)
		w.publish(id, "en", id)
		want = append(want, id)
		if i%20 == 7 {
			w.stub.CutStreams()
		}
		if i%50 == 9 {
			w.stub.ForgetEvents()
		}
	}
	w.unpublish("a")
	w.shows("en", strings.Join(want, " "))

	for _, r := range w.stub.Requests() {
		if r.API == streams && r.Auth != "none" {
			t.Fatal("the stream was asked for with the token")
		}
	}
	if w.stop(); !slices.Equal([]string{w.driver.Watching().Mode}, []string{""}) {
		t.Errorf("after the end the state is %+v", w.driver.Watching())
	}
}
