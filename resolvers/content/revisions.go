package content

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// revisionTime limits the time for storing or reading a revision.
const revisionTime = 300 * time.Millisecond

// StorePrices stores price rules before this process first uses them, so that a price can
// be recomputed after the rules are replaced. A nil rules records that the locale has
// none.
func (c *Service) StorePrices(ctx context.Context, locale schema.Locale, rules *price.Rules) error {
	r := store.Revision{Kind: store.Prices, Locale: string(locale)}
	if rules != nil {
		r.Revision, r.Body = rules.Revision, rules.Body
	}
	return c.storeRevision(ctx, r)
}

// StoreTexts stores the firm's texts before a lead names them. A nil texts records that
// there are none.
func (c *Service) StoreTexts(ctx context.Context, texts *Texts) error {
	r := store.Revision{Kind: store.Texts}
	if texts != nil {
		r.Revision, r.Body = texts.Revision, texts.Body
	}
	return c.storeRevision(ctx, r)
}

// storeFetched stores the revision of a locale's content of which the edge is notified, so
// that a restart with the same content calls nobody. It logs an error: the next process
// then notifies once more.
func (c *Service) storeFetched(ctx context.Context, l *localeContent, revision string) {
	r := store.Revision{Kind: store.Content, Locale: string(l.locale), Revision: l.key + ":" + revision}
	_ = c.storeRevision(ctx, r)
}

// lastFetched returns the revision that storeFetched stored last, or noRevision.
func (c *Service) lastFetched(ctx context.Context, l *localeContent) string {
	if c.Revisions == nil {
		return noRevision
	}
	ctx, cancel := context.WithTimeout(ctx, revisionTime)
	defer cancel()

	stored, err := c.Revisions.CurrentRevision(ctx, store.Content, string(l.locale))
	if err != nil {
		return noRevision // notifying once more is safe
	}
	return strings.TrimPrefix(stored.Revision, l.key+":")
}

// storeRevision stores a revision unless this process stored it last.
func (c *Service) storeRevision(ctx context.Context, r store.Revision) error {
	if c.Revisions == nil { // commands never store revisions
		return nil
	}
	key := r.Kind + " " + r.Locale
	if last, ok := c.stored.Load(key); ok && last == r.Revision {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, revisionTime)
	defer cancel()

	if err := c.Revisions.UseRevision(ctx, r, time.Now()); err != nil {
		level := zerolog.WarnLevel
		if errors.Is(err, store.ErrUnavailable) {
			level = zerolog.DebugLevel // the start or a check reports it
		}
		c.Log.WithLevel(level).Ctx(ctx).Err(err).Str("locale", r.Locale).
			Msgf("cannot store the revision of the %s", r.Kind)
		return err
	}

	c.stored.Store(key, r.Revision)
	return nil
}

// keepLast keeps the last usable price rules and texts in force if the published ones are
// unusable. It reads them from the database, so they survive a restart.
func (c *Service) keepLast(ctx context.Context, locale schema.Locale, snap *Snapshot) {
	if snap.Unusable[store.Prices] {
		snap.Prices = lastUsable(ctx, c, store.Prices, string(locale), price.Decode)
	}
	if snap.Unusable[store.Texts] {
		snap.Texts = lastUsable(ctx, c, store.Texts, "", DecodeTexts)
	}
}

// lastUsable returns the current revision in the database, or nil.
func lastUsable[T any](
	ctx context.Context, c *Service, kind, locale string, decode func(body string) (*T, error),
) (last *T) {
	if c.Revisions == nil {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, revisionTime)
	defer cancel()

	stored, err := c.Revisions.CurrentRevision(ctx, kind, locale)
	if err == nil {
		last, err = decode(stored.Body)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		c.Log.Warn().Ctx(ctx).Err(err).Str("locale", locale).
			Msgf("cannot read the last usable %s: none are in force", kind)
	}
	return last
}

// Unusable reports whether the published documents of a kind are unusable in any locale.
func (c *Service) Unusable(kind string) bool {
	for _, l := range c.locales {
		if latest := l.current(); latest != nil && latest.Unusable[kind] {
			return true
		}
	}
	return false
}
