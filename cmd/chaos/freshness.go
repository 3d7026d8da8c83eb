package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	defer u.cms.Close()
	defer u.crm.Close()
	env := append(u.env(), "CONTENT_TYPES=heroSection",
		"DATABASE_URL="+pg.URL("postgres"), "CACHE_URL="+valkey.URL())
	e := &editor{cms: u.cms, docs: map[string][]state{}}
	for _, name := range []string{"a", "b"} {
		s := harness.New(t.binary, filepath.Join(t.dir, name), env...)
		s.Run(ctx)
		e.readers = append(e.readers, &reader{service: s})
	}
	defer func() {
		for _, r := range e.readers {
			r.service.Stop(syscall.SIGKILL)
		}
	}()
	sleep(ctx, 2*time.Second) // until one of them follows the stream

	calm := e.publishes(ctx, t.times(300, 60), 40*time.Millisecond, nil)
	calm = append(calm, e.publishes(ctx, 200, 0, nil)...)
	slices.Sort(calm)
	if p95 := calm[len(calm)*95/100]; p95 > freshConnected {
		harness.Check(fmt.Errorf("while connected 5%% of %d changes took longer than %v", len(calm), p95))
	}

	worst := slices.Max(e.troubles(ctx, t))
	if worst > freshAlways {
		harness.Check(fmt.Errorf("a change showed after %v", worst))
	}
	harness.Check(e.compare(ctx))
	return fmt.Sprintf("%d changes, none missed; while connected p95 %v, with a stream that fails %v at most",
		e.changes, calm[len(calm)*95/100].Round(time.Millisecond), worst.Round(time.Millisecond))
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
		nil,
		func() { e.cms.Silence(true) },
		fail(faulttest.Answer(http.StatusInternalServerError)),
		e.cms.SendAway,
		fail(faulttest.Of(faulttest.Hang)),
	}
	if t.short {
		troubles = troubles[:2]
	}

	for _, trouble := range troubles {
		if trouble != nil {
			trouble()
		}
		took = append(took, e.publishes(ctx, t.times(80, 20), 500*time.Millisecond, func(i int) {
			switch {
			case trouble != nil:
			case i%7 == 0:
				e.cms.CutStreams()
			case i%11 == 0:
				e.cms.ForgetEvents()
				e.cms.CutStreams()
			}
		})...)
		e.cms.Recover()
		e.cms.Silence(false)
		e.cms.CutStreams()
	}

	// Whichever instance watches, it is killed once.
	for _, r := range e.readers {
		r.service.Stop(syscall.SIGKILL)
		r.down = true
		took = append(took, e.publishes(ctx, t.times(50, 10), 100*time.Millisecond, nil)...)
		r.service.Run(ctx)
		r.down = false
	}
	return append(took, e.publishes(ctx, t.times(50, 10), 100*time.Millisecond, nil)...)
}

// editor publishes documents and looks for them at the instances.
type editor struct {
	cms     *sanitytest.Server
	readers []*reader
	changes int

	mu   sync.Mutex
	docs map[string][]state // states of each document, in turn
}

// state is what a change made of a document.
type state struct {
	title string // empty: the document was unpublished
	at    time.Time
}

// reader is an instance.
type reader struct {
	service *harness.Service
	down    bool
}

// publishes makes changes at random, a pause apart on average, and returns after what time
// each instance that is up showed each of them.
func (e *editor) publishes(
	ctx context.Context, n int, pause time.Duration, before func(i int),
) (took []time.Duration) {
	done, watching := make(chan struct{}), sync.WaitGroup{}
	times, failed := make([][]time.Duration, len(e.readers)), make([]error, len(e.readers))
	for i, r := range e.readers {
		if !r.down {
			seen := e.counts()
			watching.Go(func() { times[i], failed[i] = e.watch(ctx, r, seen, done) })
		}
	}

	for i := range n {
		if before != nil {
			before(i)
		}
		e.change(ctx)
		if pause > 0 {
			sleep(ctx, rand.N(2*pause))
		}
	}
	close(done)
	watching.Wait()
	harness.Check(errors.Join(ctx.Err(), errors.Join(failed...)))
	return slices.Concat(times...)
}

// counts returns how many states each document has had.
func (e *editor) counts() map[string]int {
	seen := map[string]int{}
	for id, states := range e.docs {
		seen[id] = len(states)
	}
	return seen
}

// watch reads until an instance shows all changes after those seen and done is closed. It
// fails if one is far too late.
func (e *editor) watch(
	ctx context.Context, r *reader, seen map[string]int, done <-chan struct{},
) (took []time.Duration, err error) {
	for ; ctx.Err() == nil; sleep(ctx, 20*time.Millisecond) {
		finished := false
		select {
		case <-done:
			finished = true
		default:
		}

		shown, left := r.read(ctx), 0
		e.mu.Lock()
		for id, states := range e.docs {
			// A state shows too if a later one does.
			for i := len(states) - 1; i >= seen[id] && shown != nil; i-- {
				if states[i].title == shown[id] {
					for _, s := range states[seen[id] : i+1] {
						took = append(took, time.Since(s.at))
					}
					seen[id] = i + 1
				}
			}

			left += len(states) - seen[id]
			if seen[id] < len(states) && time.Since(states[seen[id]].at) > 2*freshAlways {
				err = fmt.Errorf("%s never showed %q of %s", r.service.Base, states[seen[id]].title, id)
			}
		}
		e.mu.Unlock()

		if finished && left == 0 || err != nil {
			return took, err
		}
	}
	return took, nil
}

// change creates, updates or unpublishes one of forty documents.
func (e *editor) change(ctx context.Context) {
	e.changes++
	n := rand.N(40)
	id := fmt.Sprintf("chaos-%d", n)
	title, locale := fmt.Sprint(e.changes), []string{"en", "es", "ro"}[n%3]
	if states := e.docs[id]; states != nil && states[len(states)-1].title != "" && rand.N(4) == 0 {
		title = ""
	}

	e.mu.Lock()
	e.docs[id] = append(e.docs[id], state{title, time.Now()})
	e.mu.Unlock()

	if title == "" {
		_ = harness.Must(e.cms.Unpublish(ctx, id, sanitytest.Webhook{}))
		return
	}
	doc := fmt.Sprintf(`{"_id":%q,"_type":"heroSection","language":%q,"title":%q}`, id, locale, title)
	_ = harness.Must(e.cms.Publish(ctx, json.RawMessage(doc), sanitytest.Webhook{}))
}

// read returns the titles that an instance shows, by document; nil if it does not answer.
func (r *reader) read(ctx context.Context) map[string]string {
	const query = `{"query":"{ en: content(documentType: \"heroSection\", locale: en) { id fields } ` +
		`es: content(documentType: \"heroSection\", locale: es) { id fields } ` +
		`ro: content(documentType: \"heroSection\", locale: ro) { id fields } }"}`
	_, body, err := harness.Do(ctx, http.MethodPost, r.service.Base+"/graphql", "", query)
	var answer struct {
		Data map[string][]struct {
			ID     string
			Fields struct{ Title string }
		}
	}
	if err != nil || json.Unmarshal(body, &answer) != nil || len(answer.Data) < 3 {
		return nil
	}

	shown := map[string]string{}
	for _, docs := range answer.Data {
		for _, d := range docs {
			shown[d.ID] = d.Fields.Title
		}
	}
	return shown
}

// compare compares what the instances show with what was published last.
func (e *editor) compare(ctx context.Context) error {
	for _, r := range e.readers {
		shown := r.read(ctx)
		for id, states := range e.docs {
			if last := states[len(states)-1]; shown[id] != last.title {
				return fmt.Errorf("%s shows %q of %s, published is %q", r.service.Base, shown[id], id, last.title)
			}
		}
		for id := range shown {
			if strings.HasPrefix(id, "chaos-") && e.docs[id] == nil {
				return fmt.Errorf("%s shows %s, which was never published", r.service.Base, id)
			}
		}
	}
	return nil
}
