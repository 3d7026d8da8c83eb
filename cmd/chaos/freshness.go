package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/upstream/faulttest"
)

// Limits of the scenario: the delay of a publication without a webhook.
const (
	freshConnected = 2 * time.Second  // 95th percentile while the event stream is connected
	freshAlways    = 45 * time.Second // maximum in any state of the stream
)

// freshness publishes at random without a webhook, while the event stream of the CMS is
// cut, refused and silent, and each instance is killed. Both instances must show each
// change in time.
func freshness(ctx context.Context, t *trial) string {
	pg, valkey, remove := t.servers()
	defer remove()

	u := newUpstreams()
	defer u.close()
	e := &editor{cms: u.cms, latest: map[string]int{}}
	for _, name := range []string{"a", "b"} {
		s := harness.New(t.binary, filepath.Join(t.dir, name), append(u.env(),
			"CONTENT_TYPES=heroSection",
			"DATABASE_URL="+pg.URL("postgres"),
			"CACHE_URL="+valkey.URL(),
		)...)
		s.Run(ctx)
		defer func() { s.Stop(syscall.SIGKILL) }()
		e.instances = append(e.instances, s)
	}
	sleep(ctx, 2*time.Second) // until they are connected to the stream

	calm := slices.Sorted(slices.Values(e.publish(ctx, t.times(300, 60), 40*time.Millisecond)))
	p95 := calm[len(calm)*95/100]

	worst := slices.Max(e.troubles(ctx, t)).Round(time.Millisecond)
	summary := fmt.Sprintf("%d changes, none missed; p95 %v while connected, at most %v while the stream fails",
		e.changes, p95, worst)
	if p95 > freshConnected || worst > freshAlways {
		harness.Failf("%s", summary)
	}

	// No old content reappears.
	for _, s := range e.instances {
		if shown := e.read(ctx, s); !maps.Equal(shown, e.latest) {
			harness.Failf("%s shows the changes %v, want the latest %v", s.Base, shown, e.latest)
		}
	}
	return summary
}

// troubles publishes while the stream fails in different ways.
func (e *editor) troubles(ctx context.Context, t *trial) (took []time.Duration) {
	for _, trouble := range []func(){
		func() { e.cms.Silence(true) },
		func() { e.cms.Fail(faulttest.Respond(http.StatusInternalServerError).On("live/events").Times(-1)) },
		func() { e.cms.EndStreams("goaway") },
		func() { e.cms.Fail(faulttest.Of(faulttest.Hang).On("live/events").Times(-1)) },
	} {
		trouble()
		e.cms.EndStreams("")
		took = append(took, e.publish(ctx, t.times(80, 20), 500*time.Millisecond)...)

		e.cms.Recover()
		e.cms.Silence(false)
		e.cms.EndStreams("")
	}

	// Each instance is killed once.
	both := e.instances
	for i, s := range both {
		s.Stop(syscall.SIGKILL)
		e.instances = both[1-i : 2-i]
		took = append(took, e.publish(ctx, t.times(50, 10), 100*time.Millisecond)...)
		s.Run(ctx)
	}

	e.instances = both
	return append(took, e.publish(ctx, t.times(50, 10), 100*time.Millisecond)...)
}

// editor publishes documents and reads them from the instances.
type editor struct {
	cms       *sanitytest.Server
	instances []*harness.Service
	changes   int
	latest    map[string]int // number of the last change of each document
}

// awaited is a change that an instance does not show yet.
type awaited struct {
	instance *harness.Service
	document string
	number   int
}

// publish makes n random changes with a pause between them on average. It returns the
// delays after which each instance showed each of them.
func (e *editor) publish(ctx context.Context, n int, pause time.Duration) (took []time.Duration) {
	waiting := map[awaited]time.Time{}
	for next := time.Now(); n > 0 || len(waiting) > 0; sleep(ctx, 20*time.Millisecond) {
		for ; n > 0 && time.Now().After(next); n-- {
			document := e.change()
			for _, s := range e.instances {
				waiting[awaited{s, document, e.changes}] = time.Now()
			}
			next = next.Add(rand.N(2*pause + 1))
		}

		shown := map[*harness.Service]map[string]int{}
		for _, s := range e.instances {
			shown[s] = e.read(ctx, s)
		}
		for change, since := range waiting {
			// A later change of the document also counts.
			waited := time.Since(since)
			if shown[change.instance][change.document] >= change.number {
				took = append(took, waited)
				delete(waiting, change)
			} else if waited > 2*freshAlways {
				harness.Failf("%s never showed change %d of %s", change.instance.Base, change.number, change.document)
			}
		}
		harness.Check(ctx.Err())
	}
	return took
}

// change creates or updates one of forty documents, and returns its id.
func (e *editor) change() string {
	n := rand.N(40)
	document := fmt.Sprint("chaos-", n)
	e.changes++
	e.latest[document] = e.changes

	doc := fmt.Sprintf(`{"_id":%q,"_type":"heroSection","language":%q,"title":"%d"}`,
		document, harness.Locale(n), e.changes)
	harness.Check(e.cms.Publish(json.RawMessage(doc)))
	return document
}

// read returns the number of the change that an instance shows of each document, or nil
// if the instance does not respond.
func (e *editor) read(ctx context.Context, s *harness.Service) map[string]int {
	const query = `{"query":"{ en: content(documentType: \"heroSection\", locale: en) { id fields } ` +
		`es: content(documentType: \"heroSection\", locale: es) { id fields } ` +
		`ro: content(documentType: \"heroSection\", locale: ro) { id fields } }"}`
	_, body, err := harness.Do(ctx, http.MethodPost, s.Base+"/graphql", "", query)
	var response struct {
		Data map[string][]struct {
			ID     string
			Fields struct{ Title string }
		}
	}
	if err != nil || json.Unmarshal(body, &response) != nil || len(response.Data) < 3 {
		return nil
	}

	shown := map[string]int{}
	for _, docs := range response.Data {
		for _, d := range docs {
			if number, err := strconv.Atoi(d.Fields.Title); err == nil { // titles of sample documents are not numbers
				shown[d.ID] = number
			}
		}
	}
	return shown
}
