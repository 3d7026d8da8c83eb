package resolvers

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/schema"
)

// siteSettingsType is the document type of the site's settings. Like the options of the
// quote calculator, they are fetched even if `content` does not serve them.
const siteSettingsType = "siteSettings"

// contentService serves the content of each locale from the cache, or else from the CMS,
// or else from the fallback copy, however old that is.
type contentService struct {
	deps       *Deps
	background *background
	formats    *schema.Formats
	opened     func(*snapshot) // called with new content
	types      []string
	origin     string // identifies what content is made from: the source, the types and the form
	locales    map[schema.Locale]*localeContent

	confirming sync.Mutex
	confirmed  atomic.Int64 // connection to the cache for which generations were read, from 1
	retryAt    atomic.Int64 // earliest time to read generations after a failure, in Unix milliseconds
}

// localeContent is the content of one locale as this process knows it.
type localeContent struct {
	locale     schema.Locale
	latest     atomic.Pointer[loadedContent] // also served while the CMS fails
	generation atomic.Int64                  // the latest one known
	refetches  atomic.Int64                  // number of the latest refetch
	fetched    atomic.Pointer[time.Time]     // when this process last fetched; nil: never
	paused     atomic.Int64                  // earliest time of the next fetch, in Unix milliseconds

	announced announced

	opening    sync.Mutex // held while an entry is decoded
	saving     sync.Mutex // held while the fallback copy is written
	discarding sync.Mutex // held while an unusable entry is removed

	// priceRules is the revision of the rules that this process last stored.
	priceRules atomic.Pointer[string]
}

// loadedContent is a snapshot with the circumstances of the entry it was decoded from.
type loadedContent struct {
	*snapshot

	generation int64
	storedAt   time.Time
}

func newContentService(
	d *Deps, b *background, f *schema.Formats, opened func(*snapshot),
) *contentService {
	c := &contentService{
		deps:       d,
		background: b,
		formats:    f,
		opened:     opened,
		types:      []string{siteSettingsType, cms.OptionType, cms.RulesType},
		locales:    map[schema.Locale]*localeContent{},
	}

	for _, t := range d.ContentTypes {
		if !slices.Contains(c.types, t) && t != cms.LeadType {
			c.types = append(c.types, t)
		}
	}
	c.origin = originOf(d.ContentSource, c.types)

	for _, locale := range schema.Locales() {
		c.locales[locale] = &localeContent{locale: locale}
	}
	return c
}

// ContentKey is the key of a locale's content, in the cache and at the edge.
func ContentKey(locale string) string { return "content:locale:" + locale }

func contentKey(l schema.Locale) string { return ContentKey(string(l)) }

// readTries bounds how many unusable entries a read meets. Usually it meets one at most.
const readTries = 5

// errUnusable means that the cache kept returning entries that must not be served.
var errUnusable = errors.New("the entry of the cache was invalidated, or made from another source")

// read returns the content of a locale. It is not older than the last invalidation that
// this process knew of when the read began.
func (c *contentService) read(ctx context.Context, locale schema.Locale) (*snapshot, error) {
	c.confirm(ctx)
	l := c.locales[locale]
	needed := l.generation.Load()

	for range readTries {
		entry, err := c.deps.Cache.Get(ctx, contentKey(locale),
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

// readSoon returns the content of a locale, or the fallback copy if it takes longer than a
// lead waits.
func (c *contentService) readSoon(ctx context.Context, locale schema.Locale) (*snapshot, error) {
	soon, cancel := context.WithTimeout(ctx, contentPatience)
	defer cancel()

	snap, err := c.read(soon, locale)
	if err != nil && soon.Err() != nil {
		return c.fallBack(ctx, c.locales[locale], err)
	}
	return snap, err
}

// usable returns the content of an entry, or nil if the entry is older than a generation,
// was made from another source or cannot be decoded.
func (c *contentService) usable(
	ctx context.Context, l *localeContent, needed int64, entry cache.Entry,
) *snapshot {
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
		c.deps.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).Msg("reading an entry of the cache")
	}
	return snap
}

// own returns the latest content of this process in place of an entry that an instance
// with another configuration stored, as during a rolling restart. Nothing may have been
// invalidated since. Otherwise the instances would replace each other's entries with
// every read.
func (c *contentService) own(l *localeContent, s stamp) *snapshot {
	latest, fresh := l.latest.Load(), c.deps.ContentLife.Fresh
	if latest == nil || latest.generation < max(s.generation, l.generation.Load()) ||
		fresh > 0 && c.deps.Now().After(latest.storedAt.Add(fresh)) {
		return nil
	}
	return latest.snapshot
}

// discard removes an unusable entry unless it has been replaced meanwhile.
func (c *contentService) discard(ctx context.Context, l *localeContent, entry cache.Entry) error {
	l.discarding.Lock()
	defer l.discarding.Unlock()

	now, ok := c.deps.Cache.Peek(ctx, contentKey(l.locale))
	if ok && (now.Revision != entry.Revision || !now.StoredAt.Equal(entry.StoredAt)) {
		return nil
	}
	return c.deps.Cache.Invalidate(ctx, contentKey(l.locale))
}

// open decodes an entry once per revision, while other readers of the locale wait. The
// result becomes the fallback copy.
func (c *contentService) open(
	ctx context.Context, l *localeContent, s stamp, entry cache.Entry,
) (*snapshot, error) {
	if latest := l.latest.Load(); latest.isOf(s) {
		return latest.snapshot, nil
	}

	first := l.latest.Load() == nil
	loaded, isNew, err := c.decode(ctx, l, s, entry)
	if err != nil {
		return nil, err
	}

	if isNew {
		c.opened(loaded.snapshot)
		c.announceRead(ctx, l, loaded, first)
		if err := c.saveFallback(l, loaded, entry.Value); err != nil {
			c.deps.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
				Msg("saving the fallback copy of the content")
		}
	}
	return loaded.snapshot, nil
}

// decode decodes an entry unless another reader has just done that. It reports whether
// the result is the latest content of the locale with a new revision.
func (c *contentService) decode(
	ctx context.Context, l *localeContent, s stamp, entry cache.Entry,
) (loaded *loadedContent, isNew bool, err error) {
	l.opening.Lock()
	defer l.opening.Unlock()

	latest := l.latest.Load()
	if latest.isOf(s) {
		return latest, false, nil
	}

	loaded = &loadedContent{generation: s.generation, storedAt: entry.StoredAt}
	if latest != nil && latest.revision == string(s.revision) {
		loaded.snapshot = latest.snapshot
	} else if loaded.snapshot, err = decodeSnapshot(
		entry.Value, l.locale, c.formats, c.deps.Log.With().Ctx(ctx).Logger()); err != nil {
		return nil, false, err
	}

	// A slow reader of an older entry must not replace newer content.
	if latest != nil && (latest.generation > loaded.generation ||
		latest.generation == loaded.generation && latest.storedAt.After(loaded.storedAt)) {
		return loaded, false, nil
	}

	l.latest.Store(loaded)
	return loaded, latest == nil || latest.snapshot != loaded.snapshot, nil
}

// isOf reports whether content was decoded from an entry with this stamp.
func (c *loadedContent) isOf(s stamp) bool {
	return c != nil && c.generation == s.generation && c.revision == string(s.revision)
}

// health reports when the content was fetched and how many documents it has.
func (l *localeContent) health() *schema.ContentHealth {
	h := &schema.ContentHealth{Locale: l.locale, FetchedAt: l.fetched.Load()}
	if latest := l.latest.Load(); latest != nil {
		for _, documents := range latest.byType {
			h.Documents += len(documents)
		}
	}
	return h
}

// cmsPause is the time from a failed fetch to the next one.
const cmsPause = 3 * time.Second

// errPaused is returned instead of fetching during cmsPause.
var errPaused = errors.New("the CMS failed a moment ago")

// fetch reads a locale's content from the CMS, to fill its cache entry.
func (c *contentService) fetch(ctx context.Context, l *localeContent) ([]byte, cache.Lifetime, error) {
	if c.deps.Now().UnixMilli() < l.paused.Load() {
		return nil, cache.Lifetime{}, errPaused
	}

	// The generation is read first: an invalidation that comes later outdates the content.
	if err := c.readGenerations(ctx); err != nil {
		c.deps.Log.Warn().Ctx(ctx).Err(err).Msg("reading what was invalidated")
	}
	generation := l.generation.Load()

	docs, err := c.deps.CMS.Fetch(ctx, cms.Query{Types: c.types, Locale: string(l.locale)})
	var value []byte
	if err == nil {
		value, err = encodeSnapshot(docs, c.origin, generation, c.deps.Log.With().Ctx(ctx).Logger())
	}

	if err != nil {
		l.paused.Store(c.deps.Now().Add(cmsPause).UnixMilli())
		c.deps.Count(Event{"content_fill", "error"})
		c.deps.Log.Error().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
			Msg("fetching content from the CMS")
		return nil, cache.Lifetime{}, err
	}

	now := c.deps.Now().UTC()
	l.fetched.Store(&now)
	c.deps.Count(Event{"content_fill", "ok"})
	if s, ok := readStamp(value); ok {
		c.announceFetched(ctx, l, string(s.revision))
	}
	return value, c.deps.ContentLife, nil
}

// contentDocuments implements the root field `content`.
func (r *Resolver) contentDocuments(
	ctx context.Context, documentType string, locale schema.Locale,
) ([]*schema.ContentDocument, error) {
	if documentType == cms.LeadType || !slices.Contains(r.ContentTypes, documentType) {
		return nil, badInput(schema.NotAllowed("documentType", r.ContentTypes))
	}

	snap, err := r.content.read(ctx, locale)
	if err != nil {
		return nil, translate(err)
	}
	return append([]*schema.ContentDocument{}, snap.byType[documentType]...), nil
}

// Revision identifies the content of a locale that is served now. It returns false if a
// read would have to fetch the content. A response made from content is current as long
// as the revision is the same.
func (r *Resolver) Revision(locale string) (string, bool) {
	if l := r.content.locales[schema.Locale(locale)]; l != nil {
		return r.content.revision(l)
	}
	return "", false
}

func (c *contentService) revision(l *localeContent) (string, bool) {
	entry, ok := c.deps.Cache.Peek(context.Background(), contentKey(l.locale))
	if !ok || !c.isConfirmed() {
		return "", false
	}

	s, ok := readStamp(entry.Value)
	switch latest := l.latest.Load(); {
	case !ok:
		return "", false
	case !s.origin(c.origin):
		if own := c.own(l, s); own != nil {
			return own.revision, true
		}
		return "", false
	case latest != nil && latest.revision == string(s.revision): // spares a copy
		return latest.revision, s.generation >= l.generation.Load()
	default:
		return string(s.revision), s.generation >= l.generation.Load()
	}
}

// Warm fetches the content of all locales in the background, so that the first visitor
// does not wait.
func (r *Resolver) Warm() { r.refetch(schema.Locales()) }

// refetch fills the entries of locales in the background, and renews them after each pause.
// A later refetch of a locale ends the repetitions of this one.
func (r *Resolver) refetch(locales []schema.Locale, pauses ...time.Duration) {
	for _, locale := range locales {
		l := r.content.locales[locale]
		number := l.refetches.Add(1)

		r.work.start(func(ctx context.Context) {
			r.fillContent(locale)

			for _, pause := range pauses {
				select {
				case <-ctx.Done():
					return
				case <-time.After(pause):
				}
				if l.refetches.Load() != number {
					return
				}

				if _, err := r.content.renew(ctx, locale); err != nil {
					r.Log.Warn().Err(err).Str("locale", string(locale)).Msg("refetching content again")
				}
			}
		})
	}
}

func (r *Resolver) fillContent(locale schema.Locale) {
	ctx, cancel := context.WithTimeout(context.Background(), cache.FillTimeout)
	defer cancel()
	if _, err := r.content.read(ctx, locale); err != nil {
		r.Log.Warn().Err(err).Str("locale", string(locale)).Msg("refetching content")
	}
}
