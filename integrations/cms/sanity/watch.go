package sanity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"siteapi/integrations/cms"
)

// checkQuery selects what identifies the state of the content of all locales. The time of
// the last change would not do, since it does not show a deletion.
const checkQuery = `*[_type in $types && !(_id in path("drafts.**")) && !(_id in path("versions.**"))` +
	` && (language in $locales || !defined(language))]{_id, _type, _rev, language}`

// pace is how often a watch does what it does.
type pace struct {
	check   time.Duration // time from the last sign of life to the next check
	recheck time.Duration // time from a failed check to the next one
	settle  time.Duration // time from the start of a stream to its check: queries lag behind
	silence time.Duration // time without a byte after which a stream is broken
	retry   time.Duration // to the next connection, doubled with each failure
	patient time.Duration // longest time to the next connection
	away    time.Duration // to the next connection after the CMS refused to keep one
	drafts  time.Duration // from one question for changed drafts to the next, without a stream
}

var usualPace = pace{
	check:   30 * time.Second,
	recheck: 5 * time.Second,
	settle:  3 * time.Second,
	silence: time.Minute,
	retry:   time.Second,
	patient: 30 * time.Second,
	away:    5 * time.Minute,
	drafts:  2 * time.Second,
}

// Watch implements [cms.Watcher]. It follows the event stream of the Live Content API. A
// check compares ids and revisions with those fetched last: once after each start of a
// stream whose position is not known, and at intervals while no stream gives signs of life.
func (d *Driver) Watch(ctx context.Context, scope cms.Scope, changed func(locales []string)) error {
	w := &watch{
		Driver:  d,
		known:   &d.known,
		state:   &d.state,
		scope:   scope,
		changed: changed,
		wake:    make(chan struct{}, 1),
	}
	d.state.begin()
	w.owe() // changes from before the watch began

	var loops sync.WaitGroup
	loops.Go(func() { w.follow(ctx) })
	loops.Go(func() { w.check(ctx) })
	loops.Wait()

	d.state.end()
	return ctx.Err()
}

// Watching implements [cms.Watcher].
func (d *Driver) Watching() cms.Watching { return d.state.watching() }

// watch is one run of Watch or WatchDrafts.
type watch struct {
	*Driver
	drafts  bool // events tell of drafts, too
	known   *knowledge
	state   *state
	scope   cms.Scope
	changed func(locales []string)

	position string // id of the last event of the stream; empty: none is known

	mu     sync.Mutex
	owed   time.Time     // when a check is due whatever the stream does; zero: none is owed
	latest time.Time     // when the check that was demanded last is due
	wake   chan struct{} // signals that a check was demanded
}

// owe demands a check once queries show what happened before now.
func (w *watch) owe() {
	w.mu.Lock()
	w.latest = time.Now().Add(w.pace.settle)
	if w.owed.IsZero() {
		w.owed = w.latest
	}
	w.mu.Unlock()

	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// due returns when the next check is due.
func (w *watch) due() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()

	due := w.Watching().Heard.Add(w.pace.check)
	if !w.owed.IsZero() && w.owed.Before(due) {
		return w.owed
	}
	return due
}

// paid notes that a check which began at a time has succeeded.
func (w *watch) paid(began time.Time) {
	w.state.heard()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owed = time.Time{}
	if w.latest.After(began) {
		w.owed = w.latest
	}
}

// check makes the checks that are due until ctx ends.
func (w *watch) check(ctx context.Context) {
	pause, failing := time.Until(w.due()), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-time.After(pause):
		}

		if pause = time.Until(w.due()); pause > 0 {
			continue // there was a sign of life meanwhile
		}
		began := time.Now()
		err := w.compare(ctx)
		if err == nil {
			w.paid(began)
			pause, failing = time.Until(w.due()), false
			continue
		}
		if pause = w.pace.recheck; !failing && ctx.Err() == nil {
			failing = true
			w.log.Warn().Err(err).Msg("asking the CMS for changes failed, repeating it every few seconds")
		}
	}
}

// compare makes one check and reports the locales whose content is not what was fetched
// last, or was not fetched by this process.
func (w *watch) compare(ctx context.Context) error {
	rows, _, err := w.documents(ctx, groqQuery{
		op:          "asking for changes",
		text:        checkQuery,
		perspective: published,
		anonymous:   !w.token,
		params:      map[string]any{"types": w.scope.Types, "locales": w.scope.Locales},
	})
	if err != nil {
		return err
	}

	var docs []cms.Document
	for _, text := range rows {
		var row struct {
			ID       string `json:"_id"`
			Type     string `json:"_type"`
			Rev      string `json:"_rev"`
			Language string `json:"language"`
		}
		if err := json.Unmarshal(text, &row); err != nil {
			return unavailable("asking for changes", "a row has another shape than was asked for")
		}
		docs = append(docs, cms.Document{ID: row.ID, Type: row.Type, Rev: row.Rev, Language: row.Language})
	}
	slices.SortFunc(docs, func(a, b cms.Document) int { return strings.Compare(a.ID, b.ID) })

	w.report(func(q cms.Query, f fetched) bool {
		own := slices.DeleteFunc(slices.Clone(docs), func(d cms.Document) bool { return !q.Matches(d) })
		return f.digest != digest(own)
	})
	return nil
}

// report reports the locales that are stale by their latest fetch, and those that this
// process did not fetch.
func (w *watch) report(stale func(cms.Query, fetched) bool) {
	var locales []string
	for _, locale := range w.scope.Locales {
		q := w.scope.Query(locale)
		if f, ok := w.known.latest(q); !ok || stale(q, f) {
			locales = append(locales, locale)
		}
	}
	if len(locales) > 0 {
		w.changed(locales)
	}
}

// digest identifies the state of documents, in the order of their ids.
func digest(docs []cms.Document) string {
	sum := sha256.New()
	for _, doc := range docs {
		_, _ = fmt.Fprintf(sum, "%s %s\n", doc.ID, doc.Rev)
	}
	return string(sum.Sum(nil))
}

// knowledge is what fetches and events told of the published content.
type knowledge struct {
	mu      sync.Mutex
	fetches uint64             // number of fetches that began
	locales map[string]fetched // the fetch of each query that began last
	event   string             // id of the latest event
	eventAt time.Time          // when it arrived
}

// fetched is what is remembered of a fetch.
type fetched struct {
	number uint64   // later fetches have higher ones
	tags   []string // the answer depends on these, in the words of events
	digest string   // identifies the documents
}

func queryKey(q cms.Query) string { return q.Locale + " " + strings.Join(q.Types, " ") }

// begin returns the number of a fetch that begins.
func (k *knowledge) begin() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fetches++
	return k.fetches
}

// remember keeps a fetch, unless one that began later ended first.
func (k *knowledge) remember(q cms.Query, f fetched) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.locales[queryKey(q)].number < f.number {
		k.locales[queryKey(q)] = f
	}
}

// latest returns the latest fetch of a query.
func (k *knowledge) latest(q cms.Query) (fetched, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, ok := k.locales[queryKey(q)]
	return f, ok
}

// happened notes an event.
func (k *knowledge) happened(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.event, k.eventAt = id, time.Now()
}

// recentEvent returns the latest event of the last minute. Queries name it, so that their
// answers show it; after a minute they do so by themselves.
func (k *knowledge) recentEvent() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.eventAt) > time.Minute {
		return ""
	}
	return k.event
}

// state is how a driver notices changes.
type state struct {
	mu  sync.Mutex
	now cms.Watching
}

func (s *state) watching() cms.Watching {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *state) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.now = cms.Watching{Mode: cms.WatchAsking, Since: now, Heard: now, Reason: "connecting"}
}

func (s *state) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = cms.Watching{}
}

// become changes the mode and reports whether it was another one.
func (s *state) become(mode, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Reason = reason
	if s.now.Mode == mode {
		return false
	}
	s.now.Mode, s.now.Since = mode, time.Now()
	return true
}

// heard notes a sign of life.
func (s *state) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Heard = time.Now()
}
