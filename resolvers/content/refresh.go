package content

import (
	"context"
	"errors"
	"slices"
	"time"

	"siteapi/integrations/cache"
	"siteapi/schema"
)

// A cached entry lives until Invalidate or Clear removes it, its lifetime expires or the
// cache server restarts. The webhook and the cache operations call Invalidate
// immediately; refetch calls it if the CMS has other content. After the entry is removed,
// Notify stores that edge caches such as Varnish must be purged: see
// integrations/queue/notification.go.

// settling lists the pauses between fetches after a change, since the CMS announces a
// change before all of its servers have it.
var settling = []time.Duration{time.Second, 2 * time.Second}

// refetchRetry is the time between a failed fetch and the next one.
const refetchRetry = 3 * time.Second

// Invalidate removes the content of locales from the cache and returns its keys.
func (c *Service) Invalidate(ctx context.Context, locales []schema.Locale) ([]string, error) {
	keys := Keys(locales)
	if len(keys) == 0 {
		return keys, nil
	}

	return keys, c.invalidate(ctx, locales, func() error { return c.Cache.Invalidate(ctx, keys...) })
}

// Clear removes the entries that match a pattern and returns their number.
func (c *Service) Clear(ctx context.Context, pattern cache.Pattern) (cleared int, err error) {
	locales := slices.DeleteFunc(schema.Locales(), func(locale schema.Locale) bool {
		return !pattern.Match(Key(string(locale)))
	})
	err = c.invalidate(ctx, locales, func() (err error) {
		cleared, err = c.Cache.Clear(ctx, pattern)
		return err
	})
	return cleared, err
}

// invalidate calls remove, which removes the content of locales from the cache, and
// notifies previews and edge caches. It also ends the pause after a failed fetch of these
// locales. If the notification of edge caches cannot be stored, the next fetch repeats it.
func (c *Service) invalidate(ctx context.Context, locales []schema.Locale, remove func() error) error {
	notified := func(revision string) {
		for _, locale := range locales {
			c.state(c.locales[locale], func(s *localeState) { s.paused, s.notified = time.Time{}, revision })
		}
	}

	notified(anyRevision)
	err := remove()
	if len(locales) == 0 {
		return err
	}

	c.seen("")
	if missed := c.Notify(ctx); missed != nil {
		notified(noRevision)
		c.FetchSoon(locales)
		err = errors.Join(err, missed)
	}
	return err
}

// fetched notifies edge caches of a revision that was fetched, unless they were notified of
// it, or of whatever follows an invalidation. A process that has not notified them yet asks
// the database which revision an earlier process fetched last. After an error the next
// call repeats the notification.
func (c *Service) fetched(ctx context.Context, l *localeContent, revision string) error {
	var last string
	c.state(l, func(s *localeState) { last, s.notified = s.notified, revision })
	if last == unknownRevision {
		last = c.lastFetched(ctx, l)
	}
	if last == revision {
		return nil
	}

	if last != anyRevision {
		c.Count("content_changed", string(l.locale))
		if err := c.Notify(ctx); err != nil {
			c.state(l, func(s *localeState) { s.notified = noRevision })
			return err
		}
	}
	c.storeFetched(ctx, l, revision)
	return nil
}

// FetchSoon schedules a fetch of changed content in the background, and more fetches after
// the pauses of settling. At startup this fetches content that is not cached, so that the
// first visitor does not wait.
func (c *Service) FetchSoon(locales []schema.Locale) {
	for _, locale := range locales {
		select {
		case c.locales[locale].due <- struct{}{}:
		default: // a pending fetch covers this change too
		}
	}
}

// keepFresh fetches the content of a locale after each change, one fetch at a time. A later
// change restarts the repetitions. A failed fetch is retried until it succeeds.
func (c *Service) keepFresh(ctx context.Context, l *localeContent) {
	var next <-chan time.Time // nil: no repetition is scheduled
	var pauses []time.Duration

	for {
		select {
		case <-ctx.Done():
			return
		case <-l.due:
			pauses = settling
		case <-next:
		}

		isNew, err := c.refetch(ctx, l)
		switch {
		case err != nil:
			c.Count("content_watch", "error")
			next = time.After(refetchRetry)
			continue
		case isNew:
			c.Count("content_watch", "changed")
			c.Log.Info().Str("locale", string(l.locale)).Msg("content changed in the CMS")
		default:
			c.Count("content_watch", "equal")
		}

		next = nil
		if len(pauses) > 0 {
			next, pauses = time.After(pauses[0]), pauses[1:]
		}
	}
}

// refetch fetches the content of a locale. If it differs from the cached content, refetch
// invalidates the entry, which other instances detect like any invalidation, and reads it
// again. It reports whether this process has new content.
func (c *Service) refetch(ctx context.Context, l *localeContent) (isNew bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*cache.FillTimeout)
	defer cancel()

	before := l.current()
	_, cached := c.Cache.Peek(ctx, l.key)
	now, err := c.read(ctx, l)

	if err == nil && cached {
		var value []byte
		if value, err = c.fetch(ctx, l); err == nil && cache.RevisionOf(value) != now.Revision {
			// The fetched value is not stored: the cache may already have content that
			// was published after the fetch.
			if _, err = c.Invalidate(ctx, []schema.Locale{l.locale}); err == nil {
				now, err = c.read(ctx, l)
			}
		}
	}
	if err == nil {
		err = c.fetched(ctx, l, now.Revision)
	}
	if err != nil {
		return false, err
	}
	return before != nil && before.Revision != now.Revision, nil
}

// Watch fetches the content after each change that the CMS driver detects, until ctx ends.
func (c *Service) Watch(ctx context.Context) {
	c.Watcher.Watch(ctx, c.types, func() { c.FetchSoon(schema.Locales()) })
}
