package sanity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"siteapi/integrations/cms"
)

// draftsQuery selects what identifies the state of all documents.
const draftsQuery = `*[_type in $types]{_id, _rev} | order(_id asc)`

// WatchDrafts implements [cms.DraftWatcher]. It follows the event stream with drafts, for
// which Sanity wants the token; while there is none it asks every two seconds.
func (d *Driver) WatchDrafts(ctx context.Context, types []string, changed func()) error {
	w := &watch{
		Driver:  d,
		drafts:  true,
		known:   &d.drafts,
		state:   &state{},
		scope:   cms.Scope{Types: types, Locales: []string{""}},
		changed: func([]string) { changed() },
		wake:    make(chan struct{}, 1),
	}
	w.state.begin()

	var loops sync.WaitGroup
	loops.Go(func() { w.follow(ctx) })
	loops.Go(func() { w.askForDrafts(ctx) })
	loops.Wait()
	return ctx.Err()
}

// askForDrafts compares the documents with those before: at intervals without a stream, and
// once for each stream that does not go on where another one ended.
func (w *watch) askForDrafts(ctx context.Context) {
	var known [sha256.Size]byte
	for {
		woken := false
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
			woken = true
		case <-time.After(w.pace.drafts):
		}
		if !woken && w.state.watching().Mode == cms.WatchStream {
			continue
		}

		var rows json.RawMessage
		err := w.query(ctx, groqQuery{
			op:          "asking for changed drafts",
			text:        draftsQuery,
			perspective: raw,
			params:      map[string]any{"types": w.scope.Types},
		}, &rows)
		if sum := sha256.Sum256(rows); err == nil && sum != known {
			known = sum
			w.changed(nil)
		}
	}
}
