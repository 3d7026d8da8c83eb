package content

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"siteapi/integrations/cache"
	"siteapi/schema"
)

// previews answers from what is not published yet. Nothing of it is kept: only queries at
// the same time share a fetch.
type previews struct {
	loads   singleflight.Group
	changes atomic.Int64 // number of changes so far

	mu        sync.Mutex // guards the fields below
	followers map[chan<- *schema.ContentChange]bool
	stop      context.CancelFunc // ends the watch that the first follower began
}

// ReadAs returns the content of a locale as a perspective of the CMS shows it; without one
// it is Read.
func (c *Service) ReadAs(ctx context.Context, perspective string, locale schema.Locale) (*Snapshot, error) {
	if perspective == "" {
		return c.Read(ctx, locale)
	}

	// A query does not share a fetch that may have begun before the latest change.
	key := fmt.Sprintf("%s %s %d", perspective, locale, c.previews.changes.Load())
	loaded := c.previews.loads.DoChan(key, func() (any, error) { return c.loadPreview(perspective, locale) })

	select {
	case result := <-loaded:
		if result.Err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, result.Err)
		}
		return result.Val.(*Snapshot), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Service) loadPreview(perspective string, locale schema.Locale) (snap *Snapshot, err error) {
	entry, _, err := cache.Run(c.closing, func(ctx context.Context) ([]byte, cache.Lifetime, error) {
		value, err := c.load(ctx, perspective, locale)
		return value, cache.Lifetime{}, err
	})
	if err == nil {
		snap, err = c.decodeSnapshot(c.closing, entry, locale)
	}
	c.Count("preview_fetch", map[bool]string{true: "ok", false: "error"}[err == nil])
	return snap, err
}

// FollowDrafts returns a channel with the keys of content that has changed, published or
// not, until ctx ends. The first value comes at once and names none.
func (c *Service) FollowDrafts(ctx context.Context) <-chan *schema.ContentChange {
	p, changes := &c.previews, make(chan *schema.ContentChange, 2)
	changes <- &schema.ContentChange{Keys: []string{}}

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

// draftsChanged reports a change to all followers.
func (c *Service) draftsChanged() {
	p := &c.previews
	p.changes.Add(1)

	p.mu.Lock()
	defer p.mu.Unlock()
	for changes := range p.followers {
		select {
		case changes <- &schema.ContentChange{Keys: Keys(schema.Locales())}:
		default: // a change that was not read yet is enough for both
		}
	}
}
