package resolvers

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/cache"
	"siteapi/schema"
)

// Each invalidation of a locale's content begins a new generation, which the database
// keeps and each entry of the cache states. So an entry that comes back after it was
// invalidated, because the cache server restored it from its disk, is recognized.

// confirmWait limits how long a read waits for the generations in the database.
const confirmWait = time.Second

// raise notes that a generation has begun.
func (l *localeContent) raise(generation int64) {
	for {
		known := l.generation.Load()
		if generation <= known || l.generation.CompareAndSwap(known, generation) {
			return
		}
	}
}

// isConfirmed reports whether the generations were read since the cache was connected. A
// failure counts for a moment, since reads go on without the database.
func (c *contentService) isConfirmed() bool {
	return c.confirmed.Load() == c.deps.Cache.Connections()+1 ||
		c.deps.Now().UnixMilli() < c.retryAt.Load()
}

// confirm reads the generations once for each connection to the cache: while the process
// was not connected, or not running, other instances may have invalidated content.
func (c *contentService) confirm(ctx context.Context) {
	if c.isConfirmed() {
		return
	}

	c.confirming.Lock()
	defer c.confirming.Unlock()
	if c.isConfirmed() {
		return
	}

	connection := c.deps.Cache.Connections() + 1
	if err := c.readGenerations(context.WithoutCancel(ctx)); err != nil {
		c.retryAt.Store(c.deps.Now().Add(confirmWait).UnixMilli())
		c.deps.Log.Warn().Ctx(ctx).Err(err).Msg("reading what was invalidated")
		return
	}
	c.confirmed.Store(connection)
}

// readGenerations learns of the invalidations of all instances.
func (c *contentService) readGenerations(ctx context.Context) error {
	if c.deps.Invalidations == nil {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, confirmWait)
	defer cancel()

	generations, err := c.deps.Invalidations.Generations(ctx)
	if err != nil {
		return err
	}
	for _, l := range c.locales {
		l.raise(generations[contentKey(l.locale)])
	}
	return nil
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

	// Without the database nothing is promised, but the content is removed all the same.
	err := errors.Join(c.beginGeneration(ctx, locales), c.deps.Cache.Invalidate(ctx, keys...))
	c.endPauses(locales)
	if err != nil {
		return nil, translate(err)
	}
	return keys, nil
}

// clear removes the entries that match a pattern and returns their number.
func (c *contentService) clear(ctx context.Context, pattern cache.Pattern) (int, error) {
	var locales []schema.Locale
	for _, locale := range schema.Locales() {
		if pattern.Match(contentKey(locale)) {
			locales = append(locales, locale)
		}
	}

	err := c.beginGeneration(ctx, locales)
	cleared, clearing := c.deps.Cache.Clear(ctx, pattern)
	c.endPauses(locales)
	if err := errors.Join(err, clearing); err != nil {
		return 0, translate(err)
	}
	return cleared, nil
}

// beginGeneration outdates everything that was fetched of locales so far: durably, or,
// with an error, only for this process.
func (c *contentService) beginGeneration(ctx context.Context, locales []schema.Locale) error {
	if len(locales) == 0 {
		return nil
	}

	after := c.deps.Now().UnixMilli()
	keys := make([]string, len(locales))
	for i, locale := range locales {
		keys[i] = contentKey(locale)
		after = max(after, c.locales[locale].generation.Load())
	}

	var generations map[string]int64
	var err error
	if c.deps.Invalidations != nil {
		generations, err = c.deps.Invalidations.NextGenerations(ctx, keys, after)
	}
	for _, locale := range locales {
		c.locales[locale].raise(max(after+1, generations[contentKey(locale)]))
	}

	if err != nil {
		return unavailable("The database, which records what is invalidated, is not available at the moment.", err)
	}
	return nil
}

// endPauses lets content be fetched at once although the CMS failed a moment ago.
func (c *contentService) endPauses(locales []schema.Locale) {
	for _, locale := range locales {
		c.locales[locale].paused.Store(0)
	}
}
