package content

import (
	"context"
	"fmt"
	"sync"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/schema"
)

// previewPause is the least time between two fetches of a perspective.
const previewPause = 500 * time.Millisecond

// previews answers from what is not published yet. Nothing of it is kept: only queries at
// the same time share a fetch.
type previews struct {
	mu        sync.Mutex
	loads     map[previewKey]*previewLoad
	next      map[string]time.Time // earliest time of the next fetch of a perspective
	followers map[chan<- []string]bool
	stop      context.CancelFunc // ends the watch that the first follower began
}

type previewKey struct {
	perspective string
	locale      schema.Locale
}

// previewLoad is a fetch that queries wait for.
type previewLoad struct {
	begun bool          // guarded by the mutex of previews
	done  chan struct{} // closed when the fields below are set
	snap  *Snapshot
	err   error
}

// ReadAs returns the content of a locale as a perspective of the CMS shows it; without one
// it is Read.
func (c *Service) ReadAs(ctx context.Context, perspective string, locale schema.Locale) (*Snapshot, error) {
	if perspective == "" {
		return c.Read(ctx, locale)
	}

	load := c.joinPreview(previewKey{perspective, locale})
	select {
	case <-load.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if load.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, load.err)
	}
	return load.snap, nil
}

// joinPreview returns the fetch that is under way or waits for its turn, or else a new one.
func (c *Service) joinPreview(key previewKey) *previewLoad {
	p := &c.previews
	p.mu.Lock()
	defer p.mu.Unlock()
	if load := p.loads[key]; load != nil {
		return load
	}

	now := time.Now()
	for perspective, at := range p.next {
		if at.Before(now) {
			delete(p.next, perspective)
		}
	}
	wait := max(0, p.next[key.perspective].Sub(now))
	p.next[key.perspective] = now.Add(wait + previewPause)

	load := &previewLoad{done: make(chan struct{})}
	p.loads[key] = load
	c.background.Go(func() {
		time.Sleep(wait)
		c.loadPreview(key, load)
	})
	return load
}

func (c *Service) loadPreview(key previewKey, load *previewLoad) {
	p := &c.previews
	p.mu.Lock()
	load.begun = true
	p.mu.Unlock()

	log := c.Log.With().Str("perspective", key.perspective).Logger()
	entry, _, err := cache.Run(c.closing, func(ctx context.Context) ([]byte, cache.Lifetime, error) {
		docs, err := c.CMS.Fetch(ctx, cms.Query{
			Types:       c.types,
			Locale:      string(key.locale),
			Perspective: key.perspective,
		})
		if err != nil {
			return nil, cache.Lifetime{}, err
		}
		value, err := encodeSnapshot(docs, c.origin, log)
		return value, cache.Lifetime{}, err
	})
	if err == nil {
		load.snap, err = decodeSnapshot(entry, c.origin, key.locale, c.formats, log)
	}
	load.err = err
	c.Count("preview_fetch", map[bool]string{true: "ok", false: "error"}[err == nil])

	p.mu.Lock()
	if p.loads[key] == load {
		delete(p.loads, key)
	}
	p.mu.Unlock()
	close(load.done)
}

// FollowDrafts returns a channel with the keys of content that has changed, published or
// not, until ctx ends. The first value comes at once and names none.
func (c *Service) FollowDrafts(ctx context.Context) <-chan []string {
	p, changes := &c.previews, make(chan []string, 2)
	changes <- []string{}

	p.mu.Lock()
	defer p.mu.Unlock()
	p.followers[changes] = true
	if len(p.followers) == 1 {
		watch, stop := context.WithCancel(c.closing)
		p.stop = stop
		c.start(func(context.Context) { c.Watcher.WatchDrafts(watch, c.types, c.draftsChanged) })
	}

	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if delete(p.followers, changes); len(p.followers) == 0 {
			p.stop()
		}
	})
	return changes
}

// draftsChanged reports a change to all followers. Later queries don't share a fetch that
// may have begun before it.
func (c *Service) draftsChanged() {
	p := &c.previews
	p.mu.Lock()
	defer p.mu.Unlock()

	for key, load := range p.loads {
		if load.begun {
			delete(p.loads, key)
		}
	}
	for changes := range p.followers {
		select {
		case changes <- Keys(schema.Locales()):
		default: // a change that was not read yet is enough for both
		}
	}
}
