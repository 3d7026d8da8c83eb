package sanity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/upstream/faulttest"
)

// types are the document types that are watched.
var types = []string{"page"}

// watcher is a driver that watches a stub, and a reader that fetches what is reported.
type watcher struct {
	t      *testing.T
	stub   *sanitytest.Server
	driver *sanity.Driver
	stop   func()

	mu       sync.Mutex
	reported int
	titles   string // of all documents
}

// watch watches a hundred times as fast as the service does, or as fast.
func watch(t *testing.T, opts sanitytest.Options, usual bool, faults ...faulttest.Fault) *watcher {
	t.Helper()
	stub := start(t, opts, page("a", "", "first"))
	w := &watcher{t: t, stub: stub, driver: driver(t, stub, sanity.Options{})}
	if !usual {
		w.driver.Hurry()
	}
	w.stub.Fail(faults...)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		w.driver.Watch(ctx, types, w.changed)
		close(ended)
	}()
	w.stop = func() { cancel(); <-ended }
	t.Cleanup(w.stop)
	w.shows("first") // changes from before it began are reported
	return w
}

// changed fetches what the driver reports.
func (w *watcher) changed() {
	docs, err := w.driver.Fetch(w.t.Context(), cms.Query{Types: types, Locale: "en"})
	if err != nil {
		return
	}
	var titles []string
	for _, doc := range docs {
		var fields struct{ Title string }
		_ = json.Unmarshal(doc.Fields, &fields)
		titles = append(titles, fields.Title)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reported++
	w.titles = strings.Join(titles, " ")
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
	if err := w.stub.Publish(doc); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watcher) unpublish(id string) {
	w.t.Helper()
	w.stub.Unpublish(id)
}

// shows waits until the reader has some titles.
func (w *watcher) shows(titles string) {
	w.t.Helper()
	w.until(titles, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.titles == titles
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

// reports returns how often the driver reported a change.
func (w *watcher) reports() int {
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
	streams   = "live/events"
	questions = "{_id, _rev}"
)

// A change that the stream reports is asked for, and reported if it concerns the types.
func TestStreamReportsChanges(t *testing.T) {
	t.Parallel()
	w := watch(t, sanitytest.Options{}, true)
	w.mode(cms.WatchStream)
	time.Sleep(4 * time.Second) // until the question of the connection is over
	before, asked := w.reports(), w.requests(questions)

	for i := range 3 {
		began := time.Now()
		w.publish("a", "", fmt.Sprint("title ", i))
		w.shows(fmt.Sprint("title ", i))
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("a change was reported after %v", took)
		}
	}
	w.unpublish("a")
	w.shows("")
	if n := w.reports() - before; n != 4 {
		t.Errorf("%d reports of four changes", n)
	}

	before = w.reports()
	w.publish("drafts.a", "", "draft")
	doc := json.RawMessage(`{"_id":"other","_type":"other"}`)
	if err := w.stub.Publish(doc); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if n := w.reports() - before; n != 0 {
		t.Errorf("%d reports of what does not concern the site", n)
	}
	if n := w.requests(questions) - asked; n > 5 {
		t.Errorf("%d questions about five events", n)
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
			w := watch(t, sanitytest.Options{}, false)
			w.mode(cms.WatchStream)
			for i := range 5 {
				end(w.stub)
				w.publish("a", "", fmt.Sprint("title ", i))
				w.shows(fmt.Sprint("title ", i))
			}
			w.mode(cms.WatchStream)
		})
	}
}

// Without a stream that works the driver asks.
func TestWatchWithoutAStream(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faulttest.Fault{
		"refused": faulttest.Answer(http.StatusInternalServerError),
		"missing": faulttest.Answer(http.StatusNotFound),
		"a page":  faulttest.Page(http.StatusOK),
		"hanging": faulttest.Of(faulttest.Hang),
		"reset":   faulttest.Of(faulttest.Reset),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, sanitytest.Options{}, false, fault.On(streams).Times(-1))
			w.publish("a", "", "second")
			w.shows("second")
			w.until("a reason", func() bool { return w.driver.Watching().Reason != "connecting" })
			w.mode(cms.WatchAsking)

			// A deletion leaves no newer document behind.
			w.unpublish("a")
			w.shows("")

			before, asked := w.reports(), w.requests(questions)
			w.until("more questions", func() bool { return w.requests(questions) > asked+2 })
			if n := w.reports() - before; n != 0 {
				t.Errorf("%d reports without a change", n)
			}

			w.stub.Recover()
			w.stub.CutStreams()
			if name != "hanging" {
				w.mode(cms.WatchStream)
			}
		})
	}
}

// A stream that falls silent is noticed, and what it did not say is asked for.
func TestSilentStream(t *testing.T) {
	t.Parallel()
	w := watch(t, sanitytest.Options{}, false)
	w.mode(cms.WatchStream)
	w.stub.Silence(true)
	w.publish("a", "", "second")
	w.shows("second")
	w.mode(cms.WatchAsking)
	w.publish("a", "", "third")
	w.shows("third")
	w.stub.Silence(false)
	w.mode(cms.WatchStream)
}

// Queries show a change later than its event, unless they name the event.
func TestIndexThatLagsBehind(t *testing.T) {
	t.Parallel()
	w := watch(t, sanitytest.Options{IndexLag: time.Hour}, false)
	w.mode(cms.WatchStream)
	for i := range 3 {
		w.publish("a", "", fmt.Sprint("title ", i))
		w.shows(fmt.Sprint("title ", i))
	}
	w.unpublish("a")
	w.shows("")
}

// Many changes at once, failing requests and cut streams lose nothing.
func TestBurstOverAnUnreliableStream(t *testing.T) {
	t.Parallel()
	w := watch(t, sanitytest.Options{}, false)
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
	w.shows(strings.Join(want, " "))

	for _, r := range w.stub.Requests() {
		if r.API == streams && r.Auth != "none" {
			t.Fatal("the stream was asked for with the token")
		}
	}
	if w.stop(); w.driver.Watching().Mode != "" {
		t.Errorf("after the end the state is %+v", w.driver.Watching())
	}
}
