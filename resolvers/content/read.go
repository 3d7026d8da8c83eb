package content

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/schema"
)

// readTries bounds how many unusable entries a read meets. Usually it meets one at most.
const readTries = 5

// errUnusable means that the cache kept returning entries that must not be served.
var errUnusable = errors.New("the entry of the cache was invalidated, or made from another source")

// Read returns the content of a locale. It is not older than the last invalidation that
// this process knew of when the read began.
func (c *Service) Read(ctx context.Context, locale schema.Locale) (*Snapshot, error) {
	c.confirm(ctx)
	l := c.locales[locale]
	needed := l.generation.Load()

	for range readTries {
		entry, err := c.Cache.Get(ctx, l.key,
			func(ctx context.Context) ([]byte, cache.Lifetime, error) {
				return c.fetch(ctx, l)
			})

		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return c.fallBack(ctx, l, err)
		}

		if snap := c.usable(ctx, l, needed, entry); snap != nil {
			return snap, nil
		}
		if err := c.discard(ctx, l, entry); err != nil {
			return c.fallBack(ctx, l, err)
		}
	}

	return c.fallBack(ctx, l, errUnusable)
}

// soonTime is the longest that ReadSoon waits.
const soonTime = 300 * time.Millisecond

// ReadSoon returns the content of a locale, or the fallback copy if it takes longer than a
// lead waits.
func (c *Service) ReadSoon(ctx context.Context, locale schema.Locale) (*Snapshot, error) {
	soon, cancel := context.WithTimeout(ctx, soonTime)
	defer cancel()

	snap, err := c.Read(soon, locale)
	if err != nil && soon.Err() != nil {
		return c.fallBack(ctx, c.locales[locale], err)
	}
	return snap, err
}

// usable returns the content of an entry, or nil if the entry is older than a generation,
// was made from another source or cannot be decoded.
func (c *Service) usable(
	ctx context.Context, l *localeContent, needed int64, entry cache.Entry,
) *Snapshot {
	s, ok := readStamp(entry.Value)
	switch {
	case !ok:
		return nil
	case !s.origin(c.origin):
		return c.own(l, s)
	case s.generation < needed:
		return nil
	}

	l.raise(s.generation)
	snap, err := c.open(ctx, l, s, entry)
	if err != nil {
		c.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).Msg("reading an entry of the cache")
	}
	return snap
}

// discard removes an unusable entry unless it has been replaced meanwhile.
func (c *Service) discard(ctx context.Context, l *localeContent, entry cache.Entry) error {
	l.discarding.Lock()
	defer l.discarding.Unlock()

	now, ok := c.Cache.Peek(ctx, l.key)
	if ok && (now.Revision != entry.Revision || !now.StoredAt.Equal(entry.StoredAt)) {
		return nil
	}
	return c.Cache.Invalidate(ctx, l.key)
}

// open decodes an entry once per revision, while other readers of the locale wait. The
// result becomes the fallback copy.
func (c *Service) open(
	ctx context.Context, l *localeContent, s stamp, entry cache.Entry,
) (*Snapshot, error) {
	if latest := l.latest.Load(); latest.isOf(s) {
		return latest.Snapshot, nil
	}

	grace := announceGrace
	if l.latest.Load() == nil {
		grace = 0 // after the start there may be no other instance
	}

	loaded, isNew, err := c.decode(ctx, l, s, entry)
	if err != nil {
		return nil, err
	}

	if isNew {
		c.storePrices(l)
		c.announce(l, loaded.Revision, grace)

		if err := c.saveFallback(l, loaded, entry.Value); err != nil {
			c.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
				Msg("saving the fallback copy of the content")
		}
	}
	return loaded.Snapshot, nil
}

// decode decodes an entry unless another reader has just done that. It reports whether
// the result is the latest content of the locale with a new revision.
func (c *Service) decode(
	ctx context.Context, l *localeContent, s stamp, entry cache.Entry,
) (loaded *loadedContent, isNew bool, err error) {
	l.opening.Lock()
	defer l.opening.Unlock()

	latest := l.latest.Load()
	if latest.isOf(s) {
		return latest, false, nil
	}

	loaded = &loadedContent{generation: s.generation, storedAt: entry.StoredAt}
	if latest != nil && latest.Revision == string(s.revision) {
		loaded.Snapshot = latest.Snapshot
	} else if loaded.Snapshot, err = decodeSnapshot(
		entry.Value, l.locale, c.formats, c.Log.With().Ctx(ctx).Logger()); err != nil {
		return nil, false, err
	}

	// A slow reader of an older entry must not replace newer content.
	if latest != nil && (latest.generation > loaded.generation ||
		latest.generation == loaded.generation && latest.storedAt.After(loaded.storedAt)) {
		return loaded, false, nil
	}

	l.latest.Store(loaded)
	return loaded, latest == nil || latest.Snapshot != loaded.Snapshot, nil
}

// isOf reports whether content was decoded from an entry with this stamp.
func (c *loadedContent) isOf(s stamp) bool {
	return c != nil && c.generation == s.generation && c.Revision == string(s.revision)
}

// cmsPause is the time from a failed fetch to the next one.
const cmsPause = 3 * time.Second

// fetch reads a locale's content from the CMS, to fill its cache entry.
func (c *Service) fetch(ctx context.Context, l *localeContent) ([]byte, cache.Lifetime, error) {
	if c.Now().UnixMilli() < l.paused.Load() {
		return nil, cache.Lifetime{}, errPaused
	}

	// The generation is read first: an invalidation that comes later outdates the content.
	if err := c.readGenerations(ctx); err != nil {
		c.Log.Warn().Ctx(ctx).Err(err).Msg("reading what was invalidated")
	}
	generation := l.generation.Load()

	docs, err := c.CMS.Fetch(ctx, cms.Query{Types: c.types, Locale: string(l.locale)})
	var value []byte
	if err == nil {
		value, err = encodeSnapshot(docs, c.origin, generation, c.Log.With().Ctx(ctx).Logger())
	}

	if err != nil {
		l.paused.Store(c.Now().Add(cmsPause).UnixMilli())
		c.Count("content_fill", "error")
		c.Log.Error().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
			Msg("fetching content from the CMS")
		return nil, cache.Lifetime{}, err
	}

	now := c.Now().UTC()
	l.fetched.Store(&now)
	c.Count("content_fill", "ok")
	if s, ok := readStamp(value); ok {
		c.announce(l, string(s.revision), 0)
	}
	return value, c.Life, nil
}
