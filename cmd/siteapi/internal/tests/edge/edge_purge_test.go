package edge

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/queue"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// edgeStub is a stub of a CDN and a renderer. Both can be taken down.
type edgeStub struct {
	url string

	mu    sync.Mutex
	down  bool
	purge []string // Cache-Tag of each purge
	event []string // keys of each event
}

func newEdgeStub(t *testing.T) *edgeStub {
	t.Helper()
	e := &edgeStub{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		var event struct {
			Data struct{ Keys []string }
		}

		switch {
		case e.down:
			w.WriteHeader(503)
		case r.Method == "PURGE" && r.Header.Get("Authorization") == "Bearer purge-token":
			e.purge = append(e.purge, r.Header.Get("Cache-Tag"))
		case json.Unmarshal(body, &event) == nil:
			e.event = append(e.event, strings.Join(event.Data.Keys, " "))
		default:
			t.Errorf("%s %v %s", r.Method, r.Header, body)
		}
	}))
	t.Cleanup(s.Close)
	e.url = s.URL
	return e
}

func (e *edgeStub) env() []string {
	return []string{
		"CDN_MAX_AGE=1h",
		"CDN_PURGE_URL=" + e.url,
		"CDN_PURGE_KIND=varnish",
		"CDN_PURGE_TOKEN=purge-token",
		"REVALIDATE_URLS=" + e.url + "/revalidate?at=1",
		"REVALIDATE_SECRET=" + apptest.LeadSecret,
	}
}

func (e *edgeStub) set(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = down
}

// since returns the purges and events since the last call.
func (e *edgeStub) since() (purges, events []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	purges, events = e.purge, e.event
	e.purge, e.event = nil, nil
	return purges, events
}

// isNotified waits for at least one purge and one event, checks that each names all keys,
// and returns the number of purges.
func (e *edgeStub) isNotified(t *testing.T, what string) int {
	t.Helper()
	var purges, events []string
	apptest.Eventually(t, "the edge is notified of "+what, func() bool {
		p, v := e.since()
		purges, events = append(purges, p...), append(events, v...)
		return len(purges) > 0 && len(events) > 0
	})
	for _, keys := range slices.Concat(purges, events) {
		if keys != everyKey() {
			t.Errorf("%s: notified of %q, want %q", what, keys, everyKey())
		}
	}
	return len(purges)
}

// settled waits until no notification is pending.
func settled(s *apptest.Service) {
	s.T.Helper()
	apptest.Eventually(s.T, "no notification is pending", func() bool {
		backlogs, err := s.App.Data.Queue.Backlogs(s.T.Context())
		return err == nil && !slices.ContainsFunc(backlogs, func(b queue.Backlog) bool { return b.Oldest > 0 })
	})
}

// everyKey returns the keys of all locales.
func everyKey() string {
	var keys []string
	for _, locale := range schema.AllLocale {
		keys = append(keys, content.Key(string(locale)))
	}
	return strings.Join(keys, " ")
}

// TestEdgeIsNotifiedOfChanges checks that the CDN and the renderer are notified of each
// change.
func TestEdgeIsNotifiedOfChanges(t *testing.T) {
	t.Parallel()
	stub, vendors := newEdgeStub(t), apptest.NewVendors(t)
	vendors.Publish("first title")
	s := apptest.Start(t, vendors.Env(stub.env()...)...)

	isNotified := func(what string) (purges int) {
		t.Helper()
		purges = stub.isNotified(t, what)
		settled(s)
		again, _ := stub.since()
		return purges + len(again)
	}
	isNotified("the content after the first start")

	vendors.Publish("second title")
	s.ReceiveWebhook()
	if n := isNotified("a publication"); n < 2 {
		t.Errorf("a publication caused %d purges, want at least 2", n)
	}

	vendors.Publish("third title")
	s.InvalidateAll()
	isNotified("an operator's invalidation")

	s.Stop()
	vendors.Publish("fourth title")
	s.Start()
	isNotified("a publication during the stop")

	// A pending notification survives a restart.
	stub.set(true)
	vendors.Publish("fifth title")
	s.ReceiveWebhook()
	time.Sleep(time.Second)
	s.Stop()
	stub.set(false)
	s.Start()
	isNotified("a change from before the restart")

	s.Prints("edge purge", "edge_cdn_1: notified")
	isNotified("a purge by hand")
}
