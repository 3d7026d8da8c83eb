package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"siteapi/integrations/atomicfile"
	"siteapi/integrations/cache"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// Read returns the content of a locale, at least as recent as the last invalidation
// before the read began. If the content cannot be read, it returns the latest content of
// this process or the fallback copy, of any age.
func (c *Service) Read(ctx context.Context, locale schema.Locale) (*Snapshot, error) {
	l := c.locales[locale]
	snap, err := c.read(ctx, l)
	switch {
	case err == nil:
		return snap, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return c.fallBack(ctx, l, err)
}

// read is like Read, but fails if the content cannot be read.
func (c *Service) read(ctx context.Context, l *localeContent) (*Snapshot, error) {
	entry, err := c.Cache.Get(ctx, l.key, c.fill(l))
	if err != nil {
		return nil, err
	}
	return c.open(ctx, l, entry)
}

// soonTime limits how long ReadSoon waits.
const soonTime = 300 * time.Millisecond

// ReadSoon is like Read, but also falls back if reading takes longer than soonTime.
func (c *Service) ReadSoon(ctx context.Context, locale schema.Locale) (*Snapshot, error) {
	soon, cancel := context.WithTimeout(ctx, soonTime)
	defer cancel()

	snap, err := c.Read(soon, locale)
	if err != nil && soon.Err() != nil {
		return c.fallBack(ctx, c.locales[locale], err)
	}
	return snap, err
}

// Revision returns the revision of the content that is served for a locale now, or false
// if a read would have to fetch or decode it. A response built from content is current as
// long as the revision is unchanged.
func (c *Service) Revision(locale string) (string, bool) {
	l := c.locales[schema.Locale(locale)]
	if l == nil {
		return "", false
	}

	entry, ok := c.Cache.Peek(context.Background(), l.key)
	if latest := l.current(); ok && latest.isOf(entry) {
		return latest.Revision, true
	}
	return "", false
}

// Load reads the content of a locale, so that [Service.Revision] has a revision to
// return. It ignores an error, since a later Read reports it.
func (c *Service) Load(ctx context.Context, locale string) {
	if l := schema.Locale(locale); c.locales[l] != nil {
		_, _ = c.Read(ctx, l)
	}
}

// open returns the content of an entry. It decodes the entry once, while other readers of
// the locale wait. The result becomes the latest content and, if its revision is new, the
// fallback copy.
func (c *Service) open(ctx context.Context, l *localeContent, entry cache.Entry) (*Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	latest, value := l.latest, entry.Value
	if latest.isOf(entry) {
		return latest, nil
	}

	snap, err := c.decodeSnapshot(ctx, entry, l.locale)
	if err != nil {
		// During a rolling restart, an instance with another configuration may have
		// stored the entry. This process then fetches its own content once and uses it
		// for the lifetime of the entry. Otherwise the instances would replace each
		// other's entries on every read.
		c.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
			Msg("cannot decode the cached content: fetching it for this process only")
		own, _, err := cache.Run(ctx, c.fill(l))
		if err != nil {
			return nil, err
		}
		if snap, err = c.decodeSnapshot(ctx, own, l.locale); err != nil {
			return nil, err
		}
		value = own.Value
	}

	c.keepLast(ctx, l.locale, snap)
	if latest != nil && entry.Superseded {
		return snap, nil
	}
	snap.entry = entry.Revision
	l.latest = snap
	if latest == nil || latest.Revision != snap.Revision {
		c.adopt(ctx, l, snap, value)
	}
	return snap, nil
}

// adopt stores the price rules and texts of a new revision, which marks the earlier ones
// as replaced, and saves the content as the fallback copy for later processes.
func (c *Service) adopt(ctx context.Context, l *localeContent, snap *Snapshot, value []byte) {
	c.start(func(ctx context.Context) { // Both log their errors.
		if snap.Prices != nil || !snap.Unusable[store.Prices] {
			_ = c.StorePrices(context.WithoutCancel(ctx), l.locale, snap.Prices)
		}
		if snap.Texts != nil || !snap.Unusable[store.Texts] {
			_ = c.StoreTexts(context.WithoutCancel(ctx), snap.Texts)
		}
	})

	err := os.MkdirAll(c.FallbackDir, 0o750)
	if err == nil {
		err = atomicfile.WriteFile(c.fallbackPath(l), value)
	}
	if err != nil {
		c.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
			Msg("cannot save the fallback copy of the content")
	}
}

// cmsPause is the minimum time between a failed fetch and the next one.
const cmsPause = 3 * time.Second

// errPaused is returned instead of fetching during cmsPause.
var errPaused = errors.New("the CMS failed a moment ago")

// fill returns the function that fetches a locale's content for the cache.
func (c *Service) fill(l *localeContent) cache.Fill {
	return func(ctx context.Context) ([]byte, cache.Lifetime, error) {
		value, err := c.fetch(ctx, l)
		if err == nil && c.fetched(ctx, l, cache.RevisionOf(value)) != nil {
			c.FetchSoon([]schema.Locale{l.locale}) // notifies as soon as the database is back
		}
		return value, c.Life, err
	}
}

// fetch loads the content of a locale from the CMS, unless the last attempt failed less
// than cmsPause ago.
func (c *Service) fetch(ctx context.Context, l *localeContent) ([]byte, error) {
	if time.Now().Before(c.state(l, nil).paused) {
		return nil, errPaused
	}

	value, err := c.load(ctx, "", l.locale)
	if err != nil {
		c.state(l, func(s *localeState) { s.paused = time.Now().Add(cmsPause) })
		c.Count("content_fill", "error")
		c.Log.Error().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
			Msg("cannot fetch content from the CMS")
		return nil, err
	}

	now := time.Now().UTC()
	c.state(l, func(s *localeState) { s.fetchedAt = &now })
	c.Count("content_fill", "ok")
	return value, nil
}

// fallBack returns the latest content of this process, or else the fallback copy on disk.
func (c *Service) fallBack(ctx context.Context, l *localeContent, cause error) (*Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest == nil {
		copied, err := c.loadFallback(ctx, l)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
				Msg("cannot read the fallback copy of the content")
		}
		l.latest = copied
	}
	if l.latest == nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, cause)
	}

	c.Count("content_fallback", string(l.locale))
	if !errors.Is(cause, errPaused) {
		c.Log.Warn().Ctx(ctx).Err(cause).Str("locale", string(l.locale)).
			Msg("cannot read the content: serving the fallback copy")
	}
	return l.latest, nil
}

func (c *Service) fallbackPath(l *localeContent) string {
	return filepath.Join(c.FallbackDir, "content-locale-"+string(l.locale)+".json")
}

// loadFallback reads the fallback copy. It fails if the copy has another source, other
// document types or another encoding.
func (c *Service) loadFallback(ctx context.Context, l *localeContent) (*Snapshot, error) {
	value, err := os.ReadFile(c.fallbackPath(l))
	if err != nil {
		return nil, err
	}
	entry := cache.Entry{Value: value, Revision: cache.RevisionOf(value)}
	snap, err := c.decodeSnapshot(ctx, entry, l.locale)
	if err == nil {
		c.keepLast(ctx, l.locale, snap)
	}
	return snap, err
}
