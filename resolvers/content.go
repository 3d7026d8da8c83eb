package resolvers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

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
	deps    *Deps
	types   []string
	locales map[schema.Locale]*localeContent
}

// localeContent is the content of one locale as this process knows it.
type localeContent struct {
	locale    schema.Locale
	served    atomic.Pointer[snapshot]  // the latest content, also served while the CMS fails
	refetches atomic.Int64              // number of the latest refetch
	fetched   atomic.Pointer[time.Time] // when this process last fetched; nil: never
	paused    atomic.Int64              // earliest time of the next fetch, in Unix milliseconds
}

func newContentService(d *Deps) *contentService {
	c := &contentService{
		deps:    d,
		types:   []string{siteSettingsType, cms.OptionType},
		locales: map[schema.Locale]*localeContent{},
	}

	for _, t := range d.ContentTypes {
		if !slices.Contains(c.types, t) && t != cms.SubmissionType {
			c.types = append(c.types, t)
		}
	}

	for _, locale := range schema.Locales() {
		c.locales[locale] = &localeContent{locale: locale}
	}
	return c
}

// ContentKey is the key of a locale's content, in the cache and at the edge.
func ContentKey(locale string) string { return "content:locale:" + locale }

func contentKey(l schema.Locale) string { return ContentKey(string(l)) }

// read returns the content of a locale.
func (c *contentService) read(ctx context.Context, locale schema.Locale) (*snapshot, error) {
	l := c.locales[locale]
	entry, err := c.deps.Cache.Get(ctx, contentKey(locale),
		func(ctx context.Context) ([]byte, cache.Lifetime, error) {
			return c.fetch(ctx, l)
		})

	switch {
	case err == nil:
		return c.open(ctx, l, entry)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return c.fallBack(ctx, l, err)
	}
}

// open decodes an entry once per revision. The result becomes the fallback copy.
func (c *contentService) open(ctx context.Context, l *localeContent, entry cache.Entry) (*snapshot, error) {
	if served := l.served.Load(); served != nil && served.revision == entry.Revision {
		return served, nil
	}

	decoded, err := decodeSnapshot(entry.Value, entry.Revision, l.locale, c.deps.Log.With().Ctx(ctx).Logger())
	if err != nil {
		return nil, err
	}

	l.served.Store(decoded)
	if err := c.saveFallback(l, entry.Value); err != nil {
		c.deps.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
			Msg("saving the fallback copy of the content")
	}

	return decoded, nil
}

// health reports when the content was fetched and how many documents it has.
func (l *localeContent) health() *schema.ContentHealth {
	h := &schema.ContentHealth{Locale: l.locale, FetchedAt: l.fetched.Load()}
	if served := l.served.Load(); served != nil {
		for _, documents := range served.byType {
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

	docs, err := c.deps.CMS.Fetch(ctx, cms.Query{Types: c.types, Locale: string(l.locale)})
	var value []byte
	if err == nil {
		value, err = json.Marshal(docs)
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
	return value, c.deps.ContentLife, nil
}

// fallBack serves the fallback copy while the CMS fails.
func (c *contentService) fallBack(ctx context.Context, l *localeContent, cause error) (*snapshot, error) {
	if l.served.Load() == nil {
		copied, err := c.loadFallback(ctx, l)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.deps.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
				Msg("reading the fallback copy of the content")
		}
		l.served.CompareAndSwap(nil, copied)
	}

	served := l.served.Load()
	if served == nil {
		return nil, unavailable("The content is not available at the moment.", cause)
	}

	c.deps.Count(Event{"content_fallback", string(l.locale)})
	if !errors.Is(cause, errPaused) {
		c.deps.Log.Warn().Ctx(ctx).Err(cause).Str("locale", string(l.locale)).
			Msg("serving the fallback copy of the content")
	}

	return served, nil
}

func (c *contentService) fallbackPath(l *localeContent) string {
	return filepath.Join(c.deps.FallbackDir, "content-locale-"+string(l.locale)+".json")
}

// saveFallback writes the copy that a later process serves while the CMS fails.
func (c *contentService) saveFallback(l *localeContent, value []byte) error {
	if err := os.MkdirAll(c.deps.FallbackDir, 0o750); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}

	path := c.fallbackPath(l)
	written := fmt.Sprintf("%s.%d", path, os.Getpid()) // unique, since instances may share the folder
	if err := os.WriteFile(written, value, 0o600); err != nil {
		return fmt.Errorf("writing the copy: %w", err)
	}
	return os.Rename(written, path)
}

func (c *contentService) loadFallback(ctx context.Context, l *localeContent) (*snapshot, error) {
	value, err := os.ReadFile(c.fallbackPath(l))
	if err != nil {
		return nil, err
	}
	return decodeSnapshot(value, cache.RevisionOf(value), l.locale, c.deps.Log.With().Ctx(ctx).Logger())
}

// invalidate removes the content of locales from the cache and returns its keys.
func (c *contentService) invalidate(ctx context.Context, locales []schema.Locale) ([]string, error) {
	keys := make([]string, len(locales))
	for i, locale := range locales {
		keys[i] = contentKey(locale)
	}
	if len(keys) == 0 {
		return keys, nil
	}

	if err := c.deps.Cache.Invalidate(ctx, keys...); err != nil {
		return nil, translate(err)
	}

	for _, locale := range locales {
		c.locales[locale].paused.Store(0)
	}
	return keys, nil
}

// contentDocuments implements the root field `content`.
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
	return append([]*schema.ContentDocument{}, snap.byType[documentType]...), nil
}

// Revision identifies the content of a locale that is served now. It returns false if a
// read would have to fetch the content. A response made from content is current as long
// as the revision is the same.
func (r *Resolver) Revision(locale string) (string, bool) {
	l, ok := schema.ParseLocale(locale)
	if !ok {
		return "", false
	}

	entry, ok := r.Cache.Peek(context.Background(), contentKey(l))
	return entry.Revision, ok
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

// snapshot is all content of one locale, decoded once and then only read.
type snapshot struct {
	revision string
	settings *siteSettings // nil: the CMS has no such document
	byType   map[string][]*schema.ContentDocument
	labels   map[string]string // words for slugs
}

// decodeSnapshot decodes a value that contentService.fetch encoded. A malformed document
// is left out and logged, so that it does not affect the others.
func decodeSnapshot(
	value []byte, revision string, locale schema.Locale, log zerolog.Logger,
) (*snapshot, error) {
	var docs []cms.Document
	if err := json.Unmarshal(value, &docs); err != nil {
		return nil, fmt.Errorf("decoding a content snapshot: %w", err)
	}

	s := &snapshot{
		revision: revision,
		byType:   map[string][]*schema.ContentDocument{},
		labels:   cms.Labels(docs, string(locale)),
	}

	for i := range docs {
		doc := &docs[i]
		shown, err := contentDocument(doc)
		if err != nil {
			log.Warn().Err(err).Str("document", doc.ID).Msg("leaving out a malformed document")
			continue
		}

		s.byType[doc.Type] = append(s.byType[doc.Type], shown)
		if doc.Type == siteSettingsType && (s.settings == nil || doc.ID == siteSettingsType) {
			s.settings = newSiteSettings(doc, log)
		}
	}

	return s, nil
}

func contentDocument(doc *cms.Document) (*schema.ContentDocument, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc.Fields, &fields); err != nil {
		return nil, fmt.Errorf("decoding its fields: %w", err)
	}

	// Fields whose names begin with an underscore belong to the CMS.
	for name := range fields {
		if strings.HasPrefix(name, "_") {
			delete(fields, name)
		}
	}

	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encoding its fields: %w", err)
	}

	shown := &schema.ContentDocument{ID: doc.ID, Type: doc.Type, Fields: json.RawMessage(rest)}
	if l, ok := schema.ParseLocale(doc.Language); ok {
		shown.Locale = &l
	}
	if !doc.UpdatedAt.IsZero() {
		at := doc.UpdatedAt.UTC()
		shown.UpdatedAt = &at
	}

	return shown, nil
}
