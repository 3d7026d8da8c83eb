package content

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/cache"
	"siteapi/schema"
)

// The CMS announces a change before all its servers have it, so the content is fetched
// again after each of these pauses.
const (
	firstRefetch  = time.Second
	secondRefetch = 2 * time.Second
)

// Invalidate removes the content of locales from the cache and returns its keys.
func (c *Service) Invalidate(ctx context.Context, locales []schema.Locale) ([]string, error) {
	keys := Keys(locales)
	if len(keys) == 0 {
		return keys, nil
	}

	defer c.changing(ctx, locales)()
	err := c.Cache.Invalidate(ctx, keys...)
	c.endPauses(locales)
	c.draftsChanged()
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// Clear removes the entries that match a pattern, and returns their number.
func (c *Service) Clear(ctx context.Context, pattern cache.Pattern) (cleared int, err error) {
	var locales []schema.Locale
	for _, locale := range schema.Locales() {
		if pattern.Match(Key(string(locale))) {
			locales = append(locales, locale)
		}
	}

	defer c.changing(ctx, locales)()
	cleared, err = c.Cache.Clear(ctx, pattern)
	c.endPauses(locales)
	return cleared, err
}

// endPauses lets content be fetched at once although the CMS failed a moment ago.
func (c *Service) endPauses(locales []schema.Locale) {
	for _, locale := range locales {
		c.state(c.locales[locale], func(s *localeState) { s.paused = time.Time{} })
	}
}

// Warm fetches the content of all locales in the background, so that the first visitor
// does not wait.
func (c *Service) Warm() { c.refetch(schema.Locales()) }

// FollowChange fetches content that the CMS has changed, in the background, until all
// servers of the CMS have the change.
func (c *Service) FollowChange(locales []schema.Locale) {
	c.refetch(locales, firstRefetch, secondRefetch)
}

// refetch fills the entries of locales in the background, and renews them after each pause.
// A later refetch of a locale ends the repetitions of this one.
func (c *Service) refetch(locales []schema.Locale, pauses ...time.Duration) {
	for _, locale := range locales {
		l := c.locales[locale]
		number := c.state(l, func(s *localeState) { s.refetch++ }).refetch

		c.start(func(ctx context.Context) {
			c.warm(locale)

			for _, pause := range pauses {
				select {
				case <-ctx.Done():
					return
				case <-time.After(pause):
				}
				if c.state(l, nil).refetch != number {
					return
				}

				if _, err := c.renew(ctx, l); err != nil {
					c.Log.Warn().Err(err).Str("locale", string(locale)).Msg("refetching content again")
				}
			}
		})
	}
}

func (c *Service) warm(locale schema.Locale) {
	ctx, cancel := context.WithTimeout(context.Background(), cache.FillTimeout)
	defer cancel()
	if _, err := c.Read(ctx, locale); err != nil {
		c.Log.Warn().Err(err).Str("locale", string(locale)).Msg("refetching content")
	}
}

// renew fetches the content of a locale. If it differs from what is cached it is fetched
// into the cache; other instances see that as they see any invalidation. It reports whether
// this process has new content.
func (c *Service) renew(ctx context.Context, l *localeContent) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*cache.FillTimeout)
	defer cancel()

	before := l.latest.Load()
	now, err := c.Read(ctx, l.locale)
	if err != nil {
		return false, err
	}

	fetched, _, err := cache.Run(ctx, c.fill(l))
	if err != nil {
		return false, err
	}
	if fetched.Revision != now.Revision {
		// The value is not stored itself: content that was published after it was fetched
		// may be in the cache already.
		if _, err := c.Invalidate(ctx, []schema.Locale{l.locale}); err != nil {
			return false, fmt.Errorf("invalidating content that has changed: %w", err)
		}
		if now, err = c.Read(ctx, l.locale); err != nil {
			return false, err
		}
	}
	return before != nil && before.Revision != now.Revision, nil
}
