package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"siteapi/integrations/cache"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Previews share the CMS quota of the public site.
const (
	previewPause   = 500 * time.Millisecond // minimum time between two fetches, of any perspective
	maxPreviewWait = 5 * time.Second        // further fetches are refused
)

// previews serves unpublished content. It caches nothing; only concurrent queries share a
// fetch.
type previews struct {
	loads   singleflight.Group
	changes atomic.Int64 // number of changes so far

	mu        sync.Mutex                          // guards the fields below
	next      time.Time                           // earliest time of the next fetch
	followers map[chan *schema.ContentChange]bool // true after the first event of a follower
	watching  bool                                // the watch has read the current state
	revision  string                              // the revision that the watch read last
	stop      context.CancelFunc                  // ends the watch that the first follower started
}

// ReadAs returns the content of a locale in a perspective of the CMS. Without a
// perspective it calls Read.
func (c *Service) ReadAs(ctx context.Context, perspective string, locale schema.Locale) (*Snapshot, error) {
	if perspective == "" {
		return c.Read(ctx, locale)
	}

	changes, key := c.previews.changes.Load(), perspective+" "+string(locale)
	for {
		loaded := c.previews.loads.DoChan(key,
			func() (any, error) { return c.loadPreview(perspective, locale) })

		select {
		case result := <-loaded:
			if result.Err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnavailable, result.Err)
			}
			// The fetch may have been started by an earlier query, before the latest
			// change.
			if p := result.Val.(*preview); p.changes >= changes {
				request.RecordFrom(ctx).Preview(p.revision)
				return p.snap, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// preview is a snapshot with the number of changes that preceded its fetch, and the
// revision of all content before it.
type preview struct {
	snap     *Snapshot
	changes  int64
	revision string
}

// loadPreview fetches a preview of a perspective as soon as previewPause allows it.
func (c *Service) loadPreview(perspective string, locale schema.Locale) (*preview, error) {
	wait, err := c.previews.wait()
	if err != nil {
		return nil, err
	}
	time.Sleep(wait)
	p := &preview{changes: c.previews.changes.Load()}

	entry, _, err := cache.Run(c.closing, func(ctx context.Context) ([]byte, cache.Lifetime, error) {
		revision, err := c.Watcher.DraftsRevision(ctx, c.types)
		if err != nil {
			return nil, cache.Lifetime{}, err
		}
		p.revision = revision
		value, err := c.load(ctx, perspective, locale)
		return value, cache.Lifetime{}, err
	})
	if err == nil {
		p.snap, err = c.decodeSnapshot(c.closing, entry, locale)
	}
	c.Count("preview_fetch", map[bool]string{true: "ok", false: "error"}[err == nil])
	return p, err
}

// wait reserves the next permitted fetch and returns the time until then.
func (p *previews) wait() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()
	wait := max(0, p.next.Sub(now))
	if wait > maxPreviewWait {
		return 0, errors.New("too many previews are being fetched")
	}
	p.next = now.Add(wait + previewPause)
	return wait, nil
}

// FollowDrafts sends an event after each change of content, published or not, until ctx
// ends. The first event has no keys: it reports that every later change will be reported.
// A later event has the keys of all locales.
func (c *Service) FollowDrafts(ctx context.Context) <-chan *schema.ContentChange {
	p, changes := &c.previews, make(chan *schema.ContentChange, 2)

	p.mu.Lock()
	defer p.mu.Unlock()
	p.followers[changes] = false
	if p.watching {
		c.start(func(closing context.Context) { c.startFollowing(closing, changes) })
	} else if len(p.followers) == 1 {
		watch, stop := context.WithCancel(c.closing)
		p.stop = stop
		c.start(func(context.Context) { c.Watcher.WatchDrafts(watch, c.types, c.seen) })
	}

	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if delete(p.followers, changes); len(p.followers) == 0 {
			p.watching = false
			p.stop()
		}
	})
	return changes
}

// startFollowing sends the first event of a follower, with the current revision: what the
// watch has seen may be a second old.
func (c *Service) startFollowing(ctx context.Context, changes chan *schema.ContentChange) {
	revision, err := c.Watcher.DraftsRevision(ctx, c.types)

	p := &c.previews
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		revision = p.revision
	}
	if started, ok := p.followers[changes]; ok && !started {
		p.followers[changes] = true
		changes <- &schema.ContentChange{Keys: []string{}, Revision: revision}
	}
}

// seen notifies all followers of a change of content, published or not. The watch also
// calls it at its start, and passes the revision of all content; a revision of "" is not known yet.
func (c *Service) seen(revision string) {
	p := &c.previews
	p.changes.Add(1)

	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision = cmp.Or(revision, p.revision)
	for changes, started := range p.followers {
		event := &schema.ContentChange{Keys: []string{}, Revision: p.revision}
		if started {
			event.Keys = Keys(schema.Locales())
		}
		p.followers[changes], p.watching = true, true

		if len(changes) == cap(changes) { // the newest event covers the oldest one
			select {
			case <-changes:
			default:
			}
		}
		changes <- event
	}
}
