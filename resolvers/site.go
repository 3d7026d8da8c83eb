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

// contentDocuments implements the root field `content`.
func (r *Resolver) contentDocuments(
	ctx context.Context, documentType string, locale schema.Locale, q content.Selection, resolve int,
) ([]*schema.ContentDocument, error) {
	if documentType == cms.LeadType || !slices.Contains(r.Content.Types, documentType) {
		return nil, schema.BadInput(schema.NotAllowed("documentType", r.Content.Types))
	}

	snap, err := r.Content.ReadAs(ctx, request.CallerFrom(ctx).Preview, locale)
	if err != nil {
		return nil, err
	}

	docs := snap.Documents(documentType, q)
	if resolve == 0 {
		return docs, nil
	}
	return content.References{
		Snapshot: snap,
		Types:    r.Content.Types,
		Build:    func(size int) error { return executor.Build(ctx, size) },
	}.Resolve(docs, resolve)
}

// siteSettings implements the root field `SiteSettings`. The document has no language, so
// the content of every locale includes it; siteSettings reads the default locale.
func (r *Resolver) siteSettings(ctx context.Context, id string) (*schema.SiteSettings, error) {
	if id != content.SettingsType {
		if r.Development {
			r.Log.Warn().Ctx(ctx).Msg(`unknown id of SiteSettings, returning null: the only id is "siteSettings"`)
		}
		return nil, nil //nolint:nilnil // the contract requires null without an error
	}

	snap, err := r.Content.ReadAs(ctx, request.CallerFrom(ctx).Preview, schema.DefaultLocale)
	if err != nil {
		return nil, err
	}
	if snap.Settings == nil {
		return nil, nil //nolint:nilnil // as above
	}
	return snap.Settings.Shown, nil
}
