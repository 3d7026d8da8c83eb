package sanity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"siteapi/integrations/cms"
)

// stateQuery selects what identifies the state of documents. The time of the last change
// would not do, since it does not show a deletion.
const stateQuery = `*[_type in $types]{_id, _rev} | order(_id asc)`

// pace is how often a watch does what it does.
type pace struct {
	asking  time.Duration // time between two questions without a stream
	drafts  time.Duration // the same, for drafts
	trust   time.Duration // the same while there is a stream, which says when to ask
	least   time.Duration // least time between any two questions
	again   time.Duration // time between a failed question and the next
	settle  time.Duration // time between the start of a stream and its last question: queries lag behind
	silence time.Duration // time without a byte after which a stream is broken
	retry   time.Duration // time between a stream that worked and the next connection
	patient time.Duration // time between one that did not work and the next connection
}

var usualPace = pace{
	asking:  30 * time.Second,
	drafts:  2 * time.Second,
	trust:   time.Hour,
	least:   300 * time.Millisecond,
	again:   5 * time.Second,
	settle:  3 * time.Second,
	silence: 35 * time.Second,
	retry:   time.Second,
	patient: 30 * time.Second,
}

// Watch implements [cms.Watcher]. The event stream of the Live Content API says when to ask
// for the ids and revisions of the documents, and a change is what differs from the answer
// before. Without a stream it asks at intervals.
func (d *Driver) Watch(ctx context.Context, types []string, changed func()) {
	w := &watch{Driver: d, perspective: published, live: &d.liveDocuments, asking: d.pace.asking}
	w.run(ctx, types, changed)
}

// WatchDrafts implements [cms.Watcher]. Sanity wants the token for the stream with drafts.
func (d *Driver) WatchDrafts(ctx context.Context, types []string, changed func()) {
	w := &watch{Driver: d, perspective: raw, live: &d.liveDrafts, asking: d.pace.drafts}
	w.run(ctx, types, changed)
}

// Watching implements [cms.Watcher].
func (d *Driver) Watching() cms.Watching { return d.liveDocuments.watching() }

// watch is one run of Watch or WatchDrafts.
type watch struct {
	*Driver
	perspective string
	live        *live
	asking      time.Duration // time between two questions without a stream
	wake        chan struct{} // signals that a question is due
}

func (w *watch) run(ctx context.Context, types []string, changed func()) {
	w.wake = make(chan struct{}, 1)
	w.live.become(cms.WatchAsking, "connecting")

	var loops sync.WaitGroup
	loops.Go(func() { w.follow(ctx) })
	loops.Go(func() { w.ask(ctx, types, changed) })
	loops.Wait()
	w.live.become("", "")
}

// due has the documents asked for, now or when the question under way has ended.
func (w *watch) due() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// ask compares the documents with those before, whenever it is due and at intervals.
func (w *watch) ask(ctx context.Context, types []string, changed func()) {
	var known [sha256.Size]byte
	failing := false
	for pause := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-time.After(pause):
		}

		sum, err := w.state(ctx, types)
		if err != nil {
			if !failing && ctx.Err() == nil {
				w.log.Warn().Err(err).Msg("asking the CMS for changes failed, repeating it every few seconds")
			}
			failing, pause = true, w.pace.again
			continue
		}

		failing, pause = false, w.asking
		if w.live.watching().Mode == cms.WatchStream {
			pause = w.pace.trust
		}
		if sum != known {
			known = sum
			changed()
		}
		time.Sleep(w.pace.least)
	}
}

// state identifies the documents as they are now.
func (w *watch) state(ctx context.Context, types []string) ([sha256.Size]byte, error) {
	rows, err := w.documents(ctx, groqQuery{
		op:          "asking for changes",
		text:        stateQuery,
		perspective: w.perspective,
		anonymous:   !w.token && w.perspective == published,
		event:       w.live.recentEvent(),
		params:      map[string]any{"types": types},
	})
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	text, err := json.Marshal(rows)
	return sha256.Sum256(text), err
}

// live is what a driver knows of an event stream.
type live struct {
	mu      sync.Mutex
	now     cms.Watching
	event   string    // id of the latest event
	eventAt time.Time // when it arrived
}

// happened records an event.
func (l *live) happened(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event, l.eventAt = id, time.Now()
}

// recentEvent returns the latest event of the last minute. Queries name it, so that their
// answers show it; after a minute they do so by themselves.
func (l *live) recentEvent() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.eventAt) > time.Minute {
		return ""
	}
	return l.event
}

func (l *live) watching() cms.Watching {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// become changes the mode and reports whether it was another one.
func (l *live) become(mode, reason string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Reason = reason
	if l.now.Mode == mode {
		return false
	}
	l.now.Mode, l.now.Since = mode, time.Now()
	return true
}
