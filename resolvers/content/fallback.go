package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"siteapi/integrations/atomicfile"
)

// fallBack serves the fallback copy while the CMS fails.
func (c *Service) fallBack(ctx context.Context, l *localeContent, cause error) (*Snapshot, error) {
	if l.latest.Load() == nil {
		copied, err := c.loadFallback(ctx, l)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(l.locale)).
				Msg("reading the fallback copy of the content")
		}
		l.latest.CompareAndSwap(nil, copied)
	}

	latest := l.latest.Load()
	if latest == nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, cause)
	}

	c.Count("content_fallback", string(l.locale))
	if !errors.Is(cause, errPaused) {
		c.Log.Warn().Ctx(ctx).Err(cause).Str("locale", string(l.locale)).
			Msg("serving the fallback copy of the content")
	}

	return latest.Snapshot, nil
}

func (c *Service) fallbackPath(l *localeContent) string {
	return filepath.Join(c.FallbackDir, "content-locale-"+string(l.locale)+".snapshot")
}

// saveFallback writes the copy that a later process serves while the CMS fails, unless
// the content has been replaced meanwhile. One copy of a locale is written at a time.
func (c *Service) saveFallback(l *localeContent, loaded *loadedContent, value []byte) error {
	l.saving.Lock()
	defer l.saving.Unlock()
	if latest := l.latest.Load(); latest == nil || latest.Snapshot != loaded.Snapshot {
		return nil
	}

	if err := os.MkdirAll(c.FallbackDir, 0o750); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}

	return atomicfile.WriteFile(c.fallbackPath(l), value)
}

// loadFallback reads a copy. One that was made from another source, or for other document
// types, counts as missing.
func (c *Service) loadFallback(ctx context.Context, l *localeContent) (*loadedContent, error) {
	value, err := os.ReadFile(c.fallbackPath(l))
	if err != nil {
		return nil, err
	}
	if s, ok := readStamp(value); !ok || !s.origin(c.origin) {
		return nil, fmt.Errorf("the copy was made from another source: %w", fs.ErrNotExist)
	}

	snap, err := decodeSnapshot(value, l.locale, c.formats, c.Log.With().Ctx(ctx).Logger())
	if err != nil {
		return nil, err
	}
	return &loadedContent{Snapshot: snap}, nil
}
