package content

import "context"

// announce tells the edge of content that this process fetched, or found in the cache
// after its start, unless it was told of the same.
func (c *Service) announce(ctx context.Context, l *localeContent, revision string) {
	if c.TellEdge == nil {
		return
	}

	l.announcing.Lock()
	defer l.announcing.Unlock()
	if l.announced == "" { // compare with what was served before the start
		if copied, err := c.loadFallback(ctx, l); err == nil {
			l.announced = copied.Revision
		}
	}
	if l.announced == revision {
		return
	}

	l.announced = revision
	c.Count("content_changed", string(l.locale))
	c.start(func(ctx context.Context) { c.TellEdge(ctx, []string{l.key}) })
}

// skipAnnouncing notes content that this process found in the cache later: the instance
// that fetched it has announced it.
func (c *Service) skipAnnouncing(l *localeContent, revision string) {
	l.announcing.Lock()
	defer l.announcing.Unlock()
	l.announced = revision
}
