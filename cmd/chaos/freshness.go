package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/store/storetest/pgserver"
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
	pg, err := pgserver.New()
	valkey, err2 := valkeyserver.New(t.dir)
	needs(errors.Join(err, err2))
	defer func() { _ = pg.Remove() }()
	harness.Check(os.MkdirAll(t.dir, 0o750))
	harness.Check(pg.Up())
	harness.Check(valkey.Start())
	defer valkey.Stop()

	u := newUpstreams()
	defer u.cms.Close()
	defer u.crm.Close()
	env := append(u.env(), "CONTENT_TYPES=heroSection",
		"DATABASE_URL="+pg.URL("postgres"), "CACHE_URL="+valkey.URL())
	e := &editor{cms: u.cms, docs: map[string]*draft{}}
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
	fail := func(f sanitytest.Fault) func() {
		f.On, f.Times = "live/events", -1
		return func() {
			e.cms.Fail(f)
			e.cms.CutStreams()
		}
	}
	troubles := []func(){
		nil,
		func() { e.cms.Silence(true) },
		fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: http.StatusInternalServerError}),
		e.cms.SendAway,
		fail(sanitytest.Fault{Mode: sanitytest.Hang}),
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
	docs    map[string]*draft // by id
	changes int
}

// draft is the state of a document that was published last.
type draft struct {
	serial  int  // in its title
	deleted bool // the document was unpublished after that
	locale  string
}

// reader is an instance.
type reader struct {
	service *harness.Service
	down    bool

	mu      sync.Mutex
	pending []change        // changes that it does not show yet
	took    []time.Duration // how long it took to show the others
}

// change is a publication that an instance does not show yet.
type change struct {
	id string
	draft
	at time.Time
}

// publishes makes changes at random, a pause apart on average, and returns after what time
// each instance that is up showed each of them.
func (e *editor) publishes(
	ctx context.Context, n int, pause time.Duration, before func(i int),
) (took []time.Duration) {
	up := slices.DeleteFunc(slices.Clone(e.readers), func(r *reader) bool { return r.down })
	done, watching := make(chan struct{}), sync.WaitGroup{}
	for _, r := range up {
		watching.Go(func() { r.watch(ctx, done) })
	}

	for i := range n {
		if before != nil {
			before(i)
		}
		c := e.change(ctx)
		for _, r := range up {
			r.mu.Lock()
			r.pending = append(r.pending, c)
			r.mu.Unlock()
		}
		if pause > 0 {
			sleep(ctx, rand.N(2*pause))
		}
	}
	close(done)
	watching.Wait()
	harness.Check(ctx.Err())

	for _, r := range up {
		if len(r.pending) > 0 {
			harness.Check(fmt.Errorf("%d changes never showed at %s, the first is %+v",
				len(r.pending), r.service.Base, r.pending[0]))
		}
		took, r.took = append(took, r.took...), nil
	}
	return took
}

// watch reads until all changes show once done is closed, or until one is far too late.
func (r *reader) watch(ctx context.Context, done <-chan struct{}) {
	for ; ctx.Err() == nil; sleep(ctx, 20*time.Millisecond) {
		finished := false
		select {
		case <-done:
			finished = true
		default:
		}

		shown := r.read(ctx)
		left, oldest := r.sort(shown)
		if finished && left == 0 || time.Since(oldest) > 2*freshAlways {
			return
		}
	}
}

// sort takes out the changes that show, and returns the number and the oldest of those left.
func (r *reader) sort(shown map[string]string) (n int, oldest time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest = time.Now()
	var left []change
	for i, c := range r.pending {
		if shown != nil && c.shows(shown, r.pending[i+1:]) {
			r.took = append(r.took, time.Since(c.at))
		} else {
			left = append(left, c)
		}
	}
	if r.pending = left; len(left) > 0 {
		oldest = left[0].at
	}
	return len(left), oldest
}

// change creates, updates or deletes one of forty documents.
func (e *editor) change(ctx context.Context) change {
	e.changes++
	locales := []string{"en", "es", "ro"}
	n := rand.N(40)
	id := fmt.Sprintf("chaos-%d", n)
	d := e.docs[id]
	if d == nil {
		d = &draft{locale: locales[n%len(locales)], deleted: true}
		e.docs[id] = d
	}

	c := change{id: id, at: time.Now()}
	if !d.deleted && rand.N(4) == 0 {
		d.deleted = true
		_ = harness.Must(e.cms.Unpublish(ctx, id, sanitytest.Webhook{}))
	} else {
		d.serial, d.deleted = d.serial+1, false
		doc := fmt.Sprintf(`{"_id":%q,"_type":"heroSection","language":%q,"title":"%d"}`, id, d.locale, d.serial)
		_ = harness.Must(e.cms.Publish(ctx, json.RawMessage(doc), sanitytest.Webhook{}))
	}
	c.draft = *d
	return c
}

// shows reports whether an instance shows a change, or a later one of the same document.
func (c change) shows(shown map[string]string, later []change) bool {
	for _, l := range append([]change{c}, later...) {
		title, there := shown[l.id]
		var serial int
		_, _ = fmt.Sscan(title, &serial)
		if l.id == c.id && (l.deleted && !there || !l.deleted && there && serial >= l.serial) {
			return true
		}
	}
	return false
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
		for id, d := range e.docs {
			if title, there := shown[id]; there == d.deleted || there && title != fmt.Sprint(d.serial) {
				return fmt.Errorf("%s shows %q of %s, published is %+v", r.service.Base, title, id, *d)
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
