package content

import (
	"context"
	"errors"
	"fmt"
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
func (c *Service) isConfirmed() bool {
	return c.confirmed.Load() == c.Cache.Connections()+1 ||
		c.Now().UnixMilli() < c.retryAt.Load()
}

// confirm reads the generations once for each connection to the cache: while the process
// was not connected, or not running, other instances may have invalidated content.
func (c *Service) confirm(ctx context.Context) {
	if c.isConfirmed() {
		return
	}

	c.confirming.Lock()
	defer c.confirming.Unlock()
	if c.isConfirmed() {
		return
	}

	connection := c.Cache.Connections() + 1
	if err := c.readGenerations(context.WithoutCancel(ctx)); err != nil {
		c.retryAt.Store(c.Now().Add(confirmWait).UnixMilli())
		c.Log.Warn().Ctx(ctx).Err(err).Msg("reading what was invalidated")
		return
	}
	c.confirmed.Store(connection)
}

// readGenerations learns of the invalidations of all instances.
func (c *Service) readGenerations(ctx context.Context) error {
	if c.Invalidations == nil {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, confirmWait)
	defer cancel()

	generations, err := c.Invalidations.Generations(ctx)
	if err != nil {
		return err
	}
	for _, l := range c.locales {
		l.raise(generations[l.key])
	}
	return nil
}

// Invalidate removes the content of locales from the cache and returns its keys.
func (c *Service) Invalidate(ctx context.Context, locales []schema.Locale) ([]string, error) {
	keys := Keys(locales)
	if len(keys) == 0 {
		return keys, nil
	}

	// Without the database nothing is promised, but the content is removed all the same.
	err := errors.Join(c.beginGeneration(ctx, locales), c.Cache.Invalidate(ctx, keys...))
	c.endPauses(locales)
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// Clear removes the entries that match a pattern. It returns their number, and the locales
// whose content was removed.
func (c *Service) Clear(
	ctx context.Context, pattern cache.Pattern,
) (cleared int, locales []schema.Locale, err error) {
	for _, locale := range schema.Locales() {
		if pattern.Match(Key(string(locale))) {
			locales = append(locales, locale)
		}
	}

	err = c.beginGeneration(ctx, locales)
	cleared, clearing := c.Cache.Clear(ctx, pattern)
	c.endPauses(locales)
	return cleared, locales, errors.Join(err, clearing)
}

// beginGeneration outdates everything that was fetched of locales so far: durably, or,
// with an error, only for this process.
func (c *Service) beginGeneration(ctx context.Context, locales []schema.Locale) error {
	if len(locales) == 0 {
		return nil
	}

	after := c.Now().UnixMilli()
	for _, locale := range locales {
		after = max(after, c.locales[locale].generation.Load())
	}

	var generations map[string]int64
	var err error
	if c.Invalidations != nil {
		generations, err = c.Invalidations.NextGenerations(ctx, Keys(locales), after)
	}
	for _, locale := range locales {
		l := c.locales[locale]
		l.raise(max(after+1, generations[l.key]))
	}

	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	return nil
}

// endPauses lets content be fetched at once although the CMS failed a moment ago.
func (c *Service) endPauses(locales []schema.Locale) {
	for _, locale := range locales {
		c.locales[locale].paused.Store(0)
	}
}
