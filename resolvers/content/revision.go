package content

import (
	"context"

	"siteapi/schema"
)

// Revision identifies the content of a locale that is served now. It returns false if a
// read would have to fetch the content. A response made from content is current as long
// as the revision is the same.
func (c *Service) Revision(locale string) (string, bool) {
	l := c.locales[schema.Locale(locale)]
	if l == nil {
		return "", false
	}

	entry, ok := c.Cache.Peek(context.Background(), l.key)
	if !ok || !c.isConfirmed() {
		return "", false
	}

	s, ok := readStamp(entry.Value)
	switch latest := l.latest.Load(); {
	case !ok:
		return "", false
	case !s.origin(c.origin):
		if own := c.own(l, s); own != nil {
			return own.Revision, true
		}
		return "", false
	case latest != nil && latest.Revision == string(s.revision): // spares a copy
		return latest.Revision, s.generation >= l.generation.Load()
	default:
		return string(s.revision), s.generation >= l.generation.Load()
	}
}

// Load reads the content of a locale, so that it has a revision unless it cannot be read. It
// returns no error, since a later Read has the same one.
func (c *Service) Load(ctx context.Context, locale string) {
	if l := schema.Locale(locale); c.locales[l] != nil {
		_, _ = c.Read(ctx, l)
	}
}

// own returns the latest content of this process in place of an entry that an instance
// with another configuration stored, as during a rolling restart. Nothing may have been
// invalidated since. Otherwise the instances would replace each other's entries with
// every read.
func (c *Service) own(l *localeContent, s stamp) *Snapshot {
	latest, fresh := l.latest.Load(), c.Life.Fresh
	if latest == nil || latest.generation < max(s.generation, l.generation.Load()) ||
		fresh > 0 && c.Now().After(latest.storedAt.Add(fresh)) {
		return nil
	}
	return latest.Snapshot
}
