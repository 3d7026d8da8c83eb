package resolvers

import (
	"context"
	"sync"

	"siteapi/schema"
)

// announced is the revision of a locale's content that the edge was told of last.
type announced struct {
	mu       sync.Mutex
	revision string // empty: this process has told it of none
}

// replace stores a revision and reports whether it is another one. The first is compared
// with that of an earlier process.
func (a *announced) replace(revision string, earlier func() string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.revision == "" {
		a.revision = earlier()
	}

	changed := a.revision != revision
	a.revision = revision
	return changed
}

// announceFetched tells the edge of content that this process fetched, unless it was told
// of the same.
func (c *contentService) announceFetched(ctx context.Context, l *localeContent, revision string) {
	if c.deps.TellEdge == nil {
		return
	}

	changed := l.announced.replace(revision, func() string {
		copied, err := c.loadFallback(ctx, l) // content that was served before the start
		if err != nil {
			return ""
		}
		return copied.revision
	})
	if changed {
		c.deps.Count(Event{"content_changed", string(l.locale)})
		c.background.start(func(ctx context.Context) {
			c.deps.TellEdge(ctx, []string{contentKey(l.locale)})
		})
	}
}

// announceRead tells the edge of content that this process found in the cache after its
// start. Whatever it finds there later was announced by the instance that fetched it.
func (c *contentService) announceRead(ctx context.Context, l *localeContent, found *loadedContent, first bool) {
	if first {
		c.announceFetched(ctx, l, found.revision)
		return
	}
	l.announced.replace(found.revision, func() string { return "" })
}

// refetchForEdge fetches content that an operator removed from the cache. Where the edge
// answers the readers, none of them may come and cause that.
func (r *Resolver) refetchForEdge(locales []schema.Locale) {
	if r.TellEdge != nil {
		r.refetch(locales)
	}
}
