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

// Promises of the scenario: how soon a publication shows without a webhook.
const (
	freshConnected = 2 * time.Second  // 95 of 100, while the event stream is there
	freshAlways    = 45 * time.Second // each, whatever the stream does
)

// freshness publishes at random and never calls the webhook, while the event stream of the
// CMS is cut, loses events, is refused and falls silent, and the instance that watches it
// is killed. Both instances have to show each change in time.
func freshness(ctx context.Context, t *trial) string {
	pg, valkey, remove := t.servers()
	defer remove()

	u := newUpstreams()
	defer u.close()
	e := &editor{cms: u.cms, latest: map[string]int{}, unpublished: map[string]int{}}
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
	sleep(ctx, 2*time.Second) // until one of them follows the stream

	calm := append(
		e.publish(ctx, t.times(300, 60), 40*time.Millisecond),
		e.publish(ctx, 200, 0)...)
	slices.Sort(calm)
	p95 := calm[len(calm)*95/100].Round(time.Millisecond)

	worst := slices.Max(e.troubles(ctx, t)).Round(time.Millisecond)
	summary := fmt.Sprintf("%d changes, none missed; while connected p95 %v, with a stream that fails %v at most",
		e.changes, p95, worst)
	if p95 > freshConnected || worst > freshAlways {
		harness.Failf("%s", summary)
	}

	// Nothing old came back.
	for _, s := range e.instances {
		shown := e.read(ctx, s)
		for document, number := range e.latest {
			if shown[document] != number {
				harness.Failf("%s shows change %d of %s, the last is %d",
					s.Base, shown[document], document, number)
			}
		}
	}
	return summary
}

// troubles publishes while the stream fails in one way after the other.
func (e *editor) troubles(ctx context.Context, t *trial) (took []time.Duration) {
	fail := func(f faulttest.Fault) func() {
		return func() {
			e.cms.Fail(f.On("live/events").Times(-1))
			e.cms.CutStreams()
		}
	}
	troubles := []func(){
		func() { e.unsteady = true },
		func() { e.cms.Silence(true) },
		fail(faulttest.Answer(http.StatusInternalServerError)),
		e.cms.SendAway,
		fail(faulttest.Of(faulttest.Hang)),
	}
	if t.short {
		troubles = troubles[:2]
	}

	for _, trouble := range troubles {
		trouble()
		took = append(took, e.publish(ctx, t.times(80, 20), 500*time.Millisecond)...)

		e.unsteady = false
		e.cms.Recover()
		e.cms.Silence(false)
		e.cms.CutStreams()
	}

	// Whichever instance watches, it is killed once.
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

// editor publishes documents and looks for them at the instances.
type editor struct {
	cms         *sanitytest.Server
	instances   []*harness.Service
	unsteady    bool // the event stream is cut, and loses events, now and then
	changes     int
	latest      map[string]int // number of the last change of each document
	unpublished map[string]int // number of the last one that removed it
}

// change is a publication that an instance does not show yet.
type change struct {
	instance *harness.Service
	document string
	number   int
	at       time.Time
}

// publish makes changes at random, a pause apart on average, and returns after what time
// each instance showed each of them.
func (e *editor) publish(ctx context.Context, n int, pause time.Duration) (took []time.Duration) {
	var waiting []change
	for next := time.Now(); n > 0 || len(waiting) > 0; sleep(ctx, 20*time.Millisecond) {
		for ; n > 0 && time.Now().After(next); n-- {
			waiting = append(waiting, e.change(ctx)...)
			next = next.Add(rand.N(2*pause + 1))
		}

		for _, s := range e.instances {
			shown := e.read(ctx, s)
			waiting = slices.DeleteFunc(waiting, func(c change) bool {
				// A change shows, too, if a later one of its document does.
				shows := c.instance == s && shown != nil && shown[c.document] >= c.number
				waited := time.Since(c.at)
				if shows {
					took = append(took, waited)
				} else if waited > 2*freshAlways {
					harness.Failf("%s never showed change %d of %s", s.Base, c.number, c.document)
				}
				return shows
			})
		}
		harness.Check(ctx.Err())
	}
	return took
}

// change creates, updates or unpublishes one of forty documents.
func (e *editor) change(ctx context.Context) (waiting []change) {
	if e.unsteady && rand.N(11) == 0 {
		e.cms.ForgetEvents()
		e.cms.CutStreams()
	} else if e.unsteady && rand.N(7) == 0 {
		e.cms.CutStreams()
	}

	e.changes++
	n := rand.N(40)
	c := change{document: fmt.Sprint("chaos-", n), number: e.changes, at: time.Now()}
	for _, c.instance = range e.instances {
		waiting = append(waiting, c)
	}

	present := e.latest[c.document] > e.unpublished[c.document]
	e.latest[c.document] = c.number
	if present && rand.N(4) == 0 {
		e.unpublished[c.document] = c.number
		e.cms.Unpublish(c.document)
		return waiting
	}

	doc := fmt.Sprintf(`{"_id":%q,"_type":"heroSection","language":%q,"title":"%d"}`,
		c.document, []string{"en", "es", "ro"}[n%3], c.number)
	harness.Check(e.cms.Publish(json.RawMessage(doc)))
	return waiting
}

// read returns the number of the change that an instance shows of each document; nil if it
// does not answer.
func (e *editor) read(ctx context.Context, s *harness.Service) map[string]int {
	const query = `{"query":"{ en: content(documentType: \"heroSection\", locale: en) { id fields } ` +
		`es: content(documentType: \"heroSection\", locale: es) { id fields } ` +
		`ro: content(documentType: \"heroSection\", locale: ro) { id fields } }"}`
	_, body, err := harness.Do(ctx, http.MethodPost, s.Base+"/graphql", "", query)
	var answer struct {
		Data map[string][]struct {
			ID     string
			Fields struct{ Title string }
		}
	}
	if err != nil || json.Unmarshal(body, &answer) != nil || len(answer.Data) < 3 {
		return nil
	}

	shown := maps.Clone(e.unpublished)
	for _, docs := range answer.Data {
		for _, d := range docs {
			shown[d.ID], _ = strconv.Atoi(d.Fields.Title) // a document of the sample has words
		}
	}
	return shown
}
