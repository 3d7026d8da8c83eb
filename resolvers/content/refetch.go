package content

import (
	"context"
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

// Warm fetches the content of all locales in the background, so that the first visitor
// does not wait.
func (c *Service) Warm() { c.refetch(schema.Locales()) }

// FollowChange fetches content that the CMS has changed, in the background, until all
// servers of the CMS have the change.
func (c *Service) FollowChange(locales []schema.Locale) {
	c.refetch(locales, firstRefetch, secondRefetch)
}

// RefetchForEdge fetches content that an operator removed from the cache. Where the edge
// answers the readers, none of them may come and cause that.
func (c *Service) RefetchForEdge(locales []schema.Locale) {
	if c.TellEdge != nil {
		c.refetch(locales)
	}
}

// refetch fills the entries of locales in the background, and renews them after each pause.
// A later refetch of a locale ends the repetitions of this one.
func (c *Service) refetch(locales []schema.Locale, pauses ...time.Duration) {
	for _, locale := range locales {
		l := c.locales[locale]
		number := l.refetches.Add(1)

		c.start(func(ctx context.Context) {
			c.fill(locale)

			for _, pause := range pauses {
				select {
				case <-ctx.Done():
					return
				case <-time.After(pause):
				}
				if l.refetches.Load() != number {
					return
				}

				if _, err := c.renew(ctx, l); err != nil {
					c.Log.Warn().Err(err).Str("locale", string(locale)).Msg("refetching content again")
				}
			}
		})
	}
}

func (c *Service) fill(locale schema.Locale) {
	ctx, cancel := context.WithTimeout(context.Background(), cache.FillTimeout)
	defer cancel()
	if _, err := c.Read(ctx, locale); err != nil {
		c.Log.Warn().Err(err).Str("locale", string(locale)).Msg("refetching content")
	}
}

// renew fetches the content of a locale. If it differs from what is cached, or from what was
// cached last, it is fetched into the cache; other instances see that as they see any
// invalidation.
func (c *Service) renew(ctx context.Context, l *localeContent) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*cache.FillTimeout)
	defer cancel()
	value, _, err := c.fetch(ctx, l)
	if err != nil {
		return false, err
	}

	s, _ := readStamp(value)
	cached, ok := c.Revision(string(l.locale))
	latest := l.latest.Load()
	switch {
	case ok && cached == string(s.revision):
		return false, nil
	case !ok && latest != nil && latest.Revision == string(s.revision): // the cache was emptied
		_, err := c.Read(ctx, l.locale)
		return false, err
	}

	// The value is not stored itself: content that was published after it was fetched may
	// be in the cache already.
	if _, err := c.Invalidate(ctx, []schema.Locale{l.locale}); err != nil {
		return false, err
	}
	_, err = c.Read(ctx, l.locale)
	return true, err
}
