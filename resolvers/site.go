package resolvers

import (
	"context"
	"slices"

	"siteapi/integrations/cms"
	"siteapi/resolvers/content"
	"siteapi/resolvers/executor"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Content resolves the root field `content`.
func (r *SiteResolver) Content(
	ctx context.Context, documentType string, locale schema.Locale, id, slug *string, resolve int,
	orderBy []string, first, offset *int,
) ([]*schema.ContentDocument, error) {
	page, err := r.ContentPage(ctx, documentType, locale, id, slug, resolve, orderBy, first, offset)
	if err != nil {
		return nil, err
	}
	return page.Documents, nil
}

// ContentPage resolves the root field `contentPage`.
func (r *SiteResolver) ContentPage(
	ctx context.Context, documentType string, locale schema.Locale, id, slug *string, resolve int,
	orderBy []string, first, offset *int,
) (*schema.ContentPage, error) {
	if documentType == cms.LeadType || !slices.Contains(r.Site.Types, documentType) {
		return nil, schema.BadInput(schema.NotAllowed("documentType", r.Site.Types))
	}

	snap, err := r.Site.ReadAs(ctx, request.CallerFrom(ctx).Preview, locale)
	if err != nil {
		return nil, err
	}

	docs, total := snap.Documents(documentType, content.Selection{
		ID:      id,
		Slug:    slug,
		OrderBy: orderBy,
		First:   first,
		Offset:  offset,
	})
	if executor.Selects(ctx, "translations") {
		if docs, err = r.translate(ctx, snap, docs); err != nil {
			return nil, err
		}
	}
	if resolve > 0 {
		docs, err = content.References{
			Snapshot: snap,
			Types:    r.Site.Types,
			Build:    func(size int) error { return executor.Build(ctx, size) },
		}.Resolve(docs, resolve)
	}
	return &schema.ContentPage{Documents: docs, Total: total}, err
}

// translate returns copies of documents with their translations.
func (r *SiteResolver) translate(
	ctx context.Context, snap *content.Snapshot, docs []*schema.ContentDocument,
) ([]*schema.ContentDocument, error) {
	var others []*content.Snapshot
	for _, locale := range schema.Locales() {
		if locale == snap.Locale {
			continue
		}
		other, err := r.Site.ReadAs(ctx, request.CallerFrom(ctx).Preview, locale)
		if err != nil {
			return nil, err
		}
		others = append(others, other)
	}
	return snap.Translate(docs, others, func(size int) error { return executor.Build(ctx, size) })
}

// SiteSettings resolves the root field `SiteSettings`. The document has no language, so
// the content of every locale includes it.
func (r *SiteResolver) SiteSettings(
	ctx context.Context, id string, locale *schema.Locale,
) (*schema.SiteSettings, error) {
	if id != cms.SettingsType {
		return nil, nil //nolint:nilnil // the contract requires null without an error
	}

	snap, err := r.Site.ReadAs(ctx, request.CallerFrom(ctx).Preview,
		schema.ValueOr(locale, schema.DefaultLocale))
	if err != nil {
		return nil, err
	}
	if snap.Settings == nil {
		return nil, nil //nolint:nilnil // as above
	}
	return snap.Settings.Shown, nil
}

// ContentChanged resolves the subscription `contentChanged`.
func (r *SiteResolver) ContentChanged(ctx context.Context) (<-chan *schema.ContentChange, error) {
	return r.Site.FollowDrafts(ctx), nil
}

// ContentHealth resolves the root field `contentHealth`.
func (r *SiteResolver) ContentHealth(context.Context) ([]*schema.ContentHealth, error) {
	return r.Site.Health(), nil
}
