package resolvers

import (
	"context"

	"siteapi/integrations/cache"
	"siteapi/schema"
)

// CacheStats resolves the root field `cacheStats`.
func (r *SiteResolver) CacheStats(ctx context.Context) (*schema.CacheStatsPayload, error) {
	return &schema.CacheStatsPayload{Success: true, Stats: newCacheStats(r.Cache.Stats(ctx))}, nil
}

// newCacheStats converts the statistics of the cache to the schema's type.
func newCacheStats(s cache.Stats) *schema.CacheStats {
	return &schema.CacheStats{Type: s.Type, Size: s.Size, Available: s.Available}
}

// ClearCache resolves the root field `clearCache`: it removes all entries, or those that
// match a pattern. A destructive request must not be ambiguous, so exactly one of the two
// must be given.
func (r *SiteResolver) ClearCache(
	ctx context.Context, all *bool, pattern *string,
) (*schema.ClearCachePayload, error) {
	everything := all != nil && *all
	switch {
	case everything && pattern != nil:
		return nil, schema.BadInput(
			schema.Conflict("all", "pattern", "must not be true together with a pattern"),
			schema.Conflict("pattern", "all", "must not be given together with all=true"),
		)
	case !everything && pattern == nil:
		return nil, schema.BadInput(
			schema.Missing("all", "must be true unless a pattern is given"),
			schema.Missing("pattern", "is required unless all is true"),
		)
	}

	cleared, err := r.Site.Clear(ctx, cache.Pattern(schema.ValueOr(pattern, "*")))
	if err != nil {
		return nil, err
	}

	// The pattern is not logged: it may hold the id of a quote, which opens its PDF.
	r.Log.Info().Ctx(ctx).Int("cleared", cleared).Msg("cache cleared")
	return &schema.ClearCachePayload{Success: true, Cleared: cleared}, nil
}

// InvalidateCache resolves the root field `invalidateCache`: it removes the content
// entries that an input selects. The entry of each locale holds documents of all types,
// so a type without a locale means all locales.
func (r *SiteResolver) InvalidateCache(
	ctx context.Context, in schema.InvalidateCacheInput,
) (*schema.InvalidateCachePayload, error) {
	locales, problems := targets(in)
	if len(problems) > 0 {
		return nil, schema.BadInput(problems...)
	}

	keys, err := r.Site.Invalidate(ctx, locales)
	if err != nil {
		return nil, err
	}

	r.Log.Info().Ctx(ctx).Strs("keys", keys).Msg("cache invalidated")
	return &schema.InvalidateCachePayload{Success: true, Invalidated: keys}, nil
}

// targets returns the locales of an input, or errors for its missing fields.
func targets(in schema.InvalidateCacheInput) ([]schema.Locale, []schema.FieldError) {
	kind := schema.ValueOr(in.Type, schema.InvalidationTypeDocumentType)
	if in.Type == nil && in.DocumentType == nil {
		if in.Locale == nil {
			return nil, []schema.FieldError{schema.Missing("type",
				"is required without a documentType or a locale: documentType, locale or all")}
		}
		kind = schema.InvalidationTypeLocale
	}

	switch {
	case kind == schema.InvalidationTypeAll:
		return schema.Locales(), nil
	case kind == schema.InvalidationTypeLocale && in.Locale == nil:
		return nil, []schema.FieldError{schema.Missing("locale", "is required if type is locale")}
	case kind != schema.InvalidationTypeLocale && in.DocumentType == nil:
		return nil, []schema.FieldError{schema.Missing("documentType", "is required if type is documentType")}
	case in.Locale != nil:
		return []schema.Locale{*in.Locale}, nil
	}
	return schema.Locales(), nil
}
