package resolvers

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/schema"
)

// contentKeyPrefix begins the key of every locale's content in the cache.
const contentKeyPrefix = "content:locale:"

func contentKey(l schema.Locale) string { return contentKeyPrefix + string(l) }

// contentKeys returns the keys of the given locales.
func contentKeys(locales []schema.Locale) []string {
	keys := make([]string, len(locales))
	for i, l := range locales {
		keys[i] = contentKey(l)
	}
	return keys
}

// library serves the content of each locale: from the cache, else from the CMS, else
// the last good copy, however old.
type library struct {
	deps    *Deps
	types   []string
	shelves map[schema.Locale]*shelf
}

// shelf is the content of one locale as this process knows it.
type shelf struct {
	locale  schema.Locale
	decoded atomic.Pointer[snapshot] // what was served last: also the fallback copy

	mu       sync.Mutex
	failures int
	pause    time.Time // no fetch is tried before
}

// siteSettingsType is the document type of the site's settings. They are fetched, like
// the words for slugs, whether or not `content` serves them.
const siteSettingsType = "siteSettings"

// Pauses between fetches while the CMS is away.
const (
	firstPause = time.Second
	longPause  = 30 * time.Second
)

func newLibrary(d *Deps) *library {
	l := &library{deps: d, types: []string{siteSettingsType, cms.OptionType}, shelves: map[schema.Locale]*shelf{}}
	for _, t := range d.ContentTypes {
		if !slices.Contains(l.types, t) && t != cms.SubmissionType {
			l.types = append(l.types, t)
		}
	}
	for _, locale := range schema.Locales() {
		l.shelves[locale] = &shelf{locale: locale}
	}
	return l
}

// read returns the content of a locale.
func (l *library) read(ctx context.Context, locale schema.Locale) (*snapshot, error) {
	s := l.shelves[locale]
	key := contentKey(locale)
	if entry, ok := l.deps.Cache.Peek(ctx, key); ok {
		return l.open(s, entry)
	}
	entry, err := l.deps.Cache.Get(ctx, key, l.deps.ContentLife, func(ctx context.Context) ([]byte, error) {
		return l.fetch(ctx, s)
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return l.fallBack(s, err)
	}
	return l.open(s, entry)
}

// errResting ends a fill that is not tried because the CMS failed a moment ago. The cache
// is asked nevertheless: another instance may have filled it.
var errResting = unavailable("The CMS failed a moment ago.", nil)

// revision names the content of a locale that is served right now; false where a read
// would have to fetch it.
func (l *library) revision(ctx context.Context, locale schema.Locale) (string, bool) {
	entry, ok := l.deps.Cache.Peek(ctx, contentKey(locale))
	return entry.Revision, ok
}

// open decodes an entry once per revision.
func (l *library) open(s *shelf, entry cache.Entry) (*snapshot, error) {
	if known := s.decoded.Load(); known != nil && known.revision == entry.Revision {
		return known, nil
	}
	decoded, err := decodeSnapshot(entry.Value, entry.Revision, s.locale, l.deps.Log)
	if err != nil {
		return nil, err
	}
	s.decoded.Store(decoded)
	if l.deps.Kept != nil {
		if err := l.deps.Kept.Save(contentKey(s.locale), entry.Value); err != nil {
			l.deps.Log.Warn().Err(err).Str("locale", string(s.locale)).Msg("keeping the last good copy of the content")
		}
	}
	return decoded, nil
}

// fetch reads a locale's content from the CMS. It is the fill of the cache entry.
func (l *library) fetch(ctx context.Context, s *shelf) ([]byte, error) {
	if s.resting(l.deps.Now()) {
		return nil, errResting
	}
	ctx, cancel := context.WithTimeout(ctx, l.deps.FillTimeout)
	defer cancel()
	docs, err := l.deps.CMS.Fetch(ctx, cms.Query{Types: l.types, Locale: string(s.locale)})
	if err == nil {
		var value []byte
		if value, err = json.Marshal(docs); err == nil {
			s.wake()
			l.deps.Count(Event{"content_fill", "ok"})
			return value, nil
		}
	}
	s.rest(l.deps.Now())
	l.deps.Count(Event{"content_fill", "error"})
	l.deps.Log.Error().Err(err).Str("locale", string(s.locale)).Msg("fetching content from the CMS")
	return nil, err
}

// fallBack serves the last good copy while the CMS is away.
func (l *library) fallBack(s *shelf, cause error) (*snapshot, error) {
	copied := s.decoded.Load()
	if copied == nil && l.deps.Kept != nil {
		if copied = l.load(s); copied != nil && !s.decoded.CompareAndSwap(nil, copied) {
			copied = s.decoded.Load()
		}
	}
	if copied == nil {
		return nil, unavailable("The content is not available at the moment.", cause)
	}
	l.deps.Count(Event{"content_last_good", string(s.locale)})
	if !errors.Is(cause, errResting) {
		l.deps.Log.Warn().Err(cause).Str("locale", string(s.locale)).Msg("serving the last good copy of the content")
	}
	return copied, nil
}

// load reads the copy that an earlier process kept; nil where there is none to use.
func (l *library) load(s *shelf) *snapshot {
	value, err := l.deps.Kept.Load(contentKey(s.locale))
	if err == nil {
		var decoded *snapshot
		if decoded, err = decodeSnapshot(value, cache.RevisionOf(value), s.locale, l.deps.Log); err == nil {
			return decoded
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		l.deps.Log.Warn().Err(err).Str("locale", string(s.locale)).Msg("reading the last good copy of the content")
	}
	return nil
}

// resting reports whether the CMS failed so recently that it isn't asked again.
func (s *shelf) resting(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.pause)
}

// rest begins a pause after a failed fetch, longer after each one in a row.
func (s *shelf) rest(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause = now.Add(min(firstPause<<min(s.failures, 10), longPause))
	s.failures++
}

// wake ends a pause: there is news that the CMS has something to say.
func (s *shelf) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures, s.pause = 0, time.Time{}
}

// invalidate removes the content of the given locales and returns their keys.
func (l *library) invalidate(ctx context.Context, locales []schema.Locale) ([]string, error) {
	keys := contentKeys(locales)
	if len(keys) == 0 {
		return keys, nil
	}
	if err := l.deps.Cache.Invalidate(ctx, keys...); err != nil {
		return nil, translate(err)
	}
	for _, locale := range locales {
		l.shelves[locale].wake()
	}
	return keys, nil
}

// contentDocuments is the rule of the root field `content`.
func (r *Resolver) contentDocuments(
	ctx context.Context, documentType string, locale schema.Locale,
) ([]*schema.ContentDocument, error) {
	if documentType == cms.SubmissionType || !slices.Contains(r.ContentTypes, documentType) {
		return nil, badInput(schema.NotAllowed("documentType", r.ContentTypes))
	}
	snap, err := r.content.read(ctx, locale)
	if err != nil {
		return nil, translate(err)
	}
	return snap.documents(documentType), nil
}

// Revision names the content of a locale that is served right now; false where there
// is none at hand. An answer made from content may be kept as long as it holds.
func (r *Resolver) Revision(locale string) (string, bool) {
	l, ok := schema.ParseLocale(locale)
	if !ok {
		return "", false
	}
	return r.content.revision(context.Background(), l)
}

// Warm fetches the content of all locales in the background, so that the first visitor
// does not wait.
func (r *Resolver) Warm() { r.refetch(schema.Locales(), 0, nil) }

// ContentChanged invalidates everything after the CMS driver noticed a change itself.
func (r *Resolver) ContentChanged(ctx context.Context) error {
	if _, err := r.content.invalidate(ctx, schema.Locales()); err != nil {
		return err
	}
	r.refetch(schema.Locales(), 0, nil)
	return nil
}

// refetch fills the entries of locales in the background, and once more after settle:
// the CMS announces a change before all its servers know of it. Until then it looks
// again as long as the content is not settled; nil: nobody can tell.
func (r *Resolver) refetch(locales []schema.Locale, settle time.Duration, settled func(*snapshot) bool) {
	if len(locales) == 0 {
		return
	}
	r.work.start(func(stopping <-chan struct{}) {
		r.fillAll(locales)
		if settle <= 0 {
			return
		}
		last := time.After(settle)
		for pause := firstLook; settled != nil && !r.all(locales, settled); pause = min(2*pause, longestLook) {
			select {
			case <-stopping:
				return
			case <-last:
				r.fillAgain(locales)
				return
			case <-time.After(pause):
			}
			// Meanwhile another notification may have brought it.
			if !r.all(locales, settled) {
				r.fillAgain(locales)
			}
		}
		select {
		case <-stopping:
		case <-last:
			r.fillAgain(locales)
		}
	})
}

// Pauses before content that has not settled is fetched again.
const (
	firstLook   = 100 * time.Millisecond
	longestLook = 400 * time.Millisecond
)

// all reports whether a condition holds for the content of each locale. Content that
// can't be read is no reason to look again: reading it looks by itself.
func (r *Resolver) all(locales []schema.Locale, holds func(*snapshot) bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), r.FillTimeout)
	defer cancel()
	for _, locale := range locales {
		if snap, err := r.content.read(ctx, locale); err == nil && !holds(snap) {
			return false
		}
	}
	return true
}

// fillAgain replaces the entries of locales.
func (r *Resolver) fillAgain(locales []schema.Locale) {
	ctx, cancel := context.WithTimeout(context.Background(), r.FillTimeout)
	defer cancel()
	if _, err := r.content.invalidate(ctx, locales); err != nil {
		r.Log.Warn().Err(err).Msg("invalidating content a second time")
		return
	}
	r.fillAll(locales)
}

func (r *Resolver) fillAll(locales []schema.Locale) {
	var group sync.WaitGroup
	for _, locale := range locales {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), r.FillTimeout)
			defer cancel()
			if _, err := r.content.read(ctx, locale); err != nil {
				r.Log.Warn().Err(err).Str("locale", string(locale)).Msg("refetching content")
			}
		})
	}
	group.Wait()
}
