package content

import (
	"context"

	"siteapi/schema"
)

// changing has the edge told of locales whose content is about to be invalidated. The caller
// calls changed when that has happened.
func (c *Service) changing(ctx context.Context, locales []schema.Locale) (changed func()) {
	if c.Changing == nil || len(locales) == 0 {
		return func() {}
	}
	for _, locale := range locales {
		c.state(c.locales[locale], func(s *localeState) { s.announced = new(string) })
	}
	return c.Changing(ctx)
}

// announce has the edge told of a revision that was fetched, unless this process fetched the
// same one before, or has just had it told: the content may have changed unnoticed, also
// before the process started.
func (c *Service) announce(ctx context.Context, l *localeContent, revision string) {
	var last *string
	c.state(l, func(s *localeState) { last, s.announced = s.announced, &revision })
	if last != nil && (*last == revision || *last == "") {
		return
	}

	c.Count("content_changed", string(l.locale))
	if c.Changing != nil {
		c.Changing(ctx)()
	}
}
