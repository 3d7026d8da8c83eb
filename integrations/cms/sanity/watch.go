package sanity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"siteapi/integrations/cms"
)

// stateQuery selects the fields that identify the state of documents. The time of the
// last change would not be enough, because it does not reveal deletions.
const stateQuery = `*[_type in $types]{_id, _rev} | order(_id asc)`

// The intervals and timeouts of a watch.
const (
	pollEvery       = 30 * time.Second // interval of polls without a stream
	pollDraftsEvery = 2 * time.Second  // interval of polls for drafts without a stream
	pollStreaming   = time.Hour        // interval of polls while a stream reports changes
	pollPause       = 300 * time.Millisecond
	pollRetry       = 5 * time.Second  // pause after a failed poll
	settle          = 3 * time.Second  // delay of the second poll after a stream starts, since queries lag behind
	idleTime        = 35 * time.Second // time without data after which a stream counts as broken
	reconnect       = time.Second      // pause before reconnecting after a stream that worked
	reconnectSlow   = 30 * time.Second // pause before reconnecting after a stream that did not work
)

// Watch implements [cms.Watcher]. After each event of the Live Content API's stream, it
// polls the ids and revisions of the documents and compares them with the previous ones.
// It also polls at intervals, which are shorter without a stream.
func (d *Driver) Watch(ctx context.Context, types []string, changed func()) {
	w := &watch{Driver: d, perspective: published, live: &d.liveDocuments, pollEvery: pollEvery}
	w.run(ctx, types, func(string) { changed() })
}

// WatchDrafts implements [cms.Watcher]. Sanity requires a token for a stream that
// includes drafts.
func (d *Driver) WatchDrafts(ctx context.Context, types []string, changed func(revision string)) {
	d.watchDrafts().run(ctx, types, changed)
}

func (d *Driver) watchDrafts() *watch {
	return &watch{Driver: d, perspective: raw, live: &d.liveDrafts, pollEvery: pollDraftsEvery}
}

// DraftsRevision implements [cms.Watcher].
func (d *Driver) DraftsRevision(ctx context.Context, types []string) (string, error) {
	return d.watchDrafts().state(ctx, types)
}

// Watching implements [cms.Watcher].
func (d *Driver) Watching() cms.Watching { return d.liveDocuments.watching() }

// watch is one run of Watch or WatchDrafts.
type watch struct {
	*Driver
	perspective string
	live        *live
	pollEvery   time.Duration // interval of polls without a stream
	pollNow     chan struct{} // requests a poll
}

func (w *watch) run(ctx context.Context, types []string, changed func(revision string)) {
	w.pollNow = make(chan struct{}, 1)
	w.live.setMode(cms.WatchAsking, "connecting")

	var loops sync.WaitGroup
	loops.Go(func() { w.follow(ctx) })
	loops.Go(func() { w.poll(ctx, types, changed) })
	loops.Wait()
	w.live.setMode("", "")
}

// requestPoll requests a poll, which starts now or after the current one.
func (w *watch) requestPoll() {
	select {
	case w.pollNow <- struct{}{}:
	default:
	}
}

// poll reads the state of the documents, on request and at intervals, and calls changed
// if it differs from the previous one.
func (w *watch) poll(ctx context.Context, types []string, changed func(revision string)) {
	known := ""
	failing := false
	for pause := time.Duration(0); ; time.Sleep(pollPause / w.haste) {
		select {
		case <-ctx.Done():
			return
		case <-w.pollNow:
		case <-time.After(pause / w.haste):
		}

		revision, err := w.state(ctx, types)
		if err != nil {
			if !failing && ctx.Err() == nil {
				w.Log.Warn().Err(err).Msg("cannot poll the CMS for changes, retrying every few seconds")
			}
			failing, pause = true, pollRetry
			continue
		}

		failing, pause = false, w.pollEvery
		if w.live.watching().Mode == cms.WatchStream {
			pause = pollStreaming
		}
		if revision != known {
			known = revision
			changed(revision)
		}
	}
}

// state returns a digest of the documents' ids and revisions.
func (w *watch) state(ctx context.Context, types []string) (string, error) {
	rows, err := w.documents(ctx, groqQuery{
		op:          "polling for changes",
		text:        stateQuery,
		perspective: w.perspective,
		anonymous:   w.Token == "" && w.perspective == published,
		event:       w.live.recentEvent(),
		params:      map[string]any{"types": types},
	})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(rows)
	return fmt.Sprintf("%.8x", sha256.Sum256(text)), err
}

// live is the driver's state of an event stream.
type live struct {
	mu      sync.Mutex
	now     cms.Watching
	event   string    // id of the latest event
	eventAt time.Time // when it arrived
}

// recordEvent records an event.
func (l *live) recordEvent(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event, l.eventAt = id, time.Now()
}

// recentEvent returns the id of the latest event, or "" if it is more than a minute old.
// A query with this id reflects the event; after a minute every query does.
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

// setMode sets the mode and reports whether it changed.
func (l *live) setMode(mode, reason string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Reason = reason
	if l.now.Mode == mode {
		return false
	}
	l.now.Mode, l.now.Since = mode, time.Now()
	return true
}
