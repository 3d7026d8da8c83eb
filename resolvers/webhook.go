package resolvers

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// firstText returns the first non-empty string among the named fields. The shape of a
// webhook's payload is configured in the CMS.
func firstText(payload map[string]any, names ...string) string {
	for _, name := range names {
		if s, ok := payload[name].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// staleLocales returns the locales whose content a change makes stale: none for drafts,
// versions and the leads that the service itself stores. A document without a language
// belongs to every locale, and so does a singleton. A document whose language has changed
// is still in the content of the former one.
func (r *SiteResolver) staleLocales(documentType, language, id string) (stale []schema.Locale) {
	if !cms.IsPublished(id) || documentType == cms.LeadType || strings.HasPrefix(id, cms.LeadType+".") {
		return nil
	}
	if cms.IsSingleton(cmp.Or(id, documentType)) {
		language = ""
	}
	return slices.DeleteFunc(schema.Locales(), func(locale schema.Locale) bool {
		return language != "" && language != string(locale) && !r.Site.Has(locale, id)
	})
}

// ReceiveCmsWebhook resolves the root field of that name. If the service fails, the
// response is 503: the CMS retries it, unlike a 4xx.
func (r *SiteResolver) ReceiveCmsWebhook(
	ctx context.Context, payload any,
) (*schema.InvalidateCachePayload, error) {
	object, ok := payload.(map[string]any)
	if !ok || len(object) == 0 {
		r.Webhooks.Record("refused_body")
		r.Log.Warn().Ctx(ctx).Str("reason", "body").Msg("rejected a CMS webhook")
		return nil, schema.BadInput(schema.FieldError{
			Field:   "payload",
			Code:    schema.FieldCodeWrongType,
			Params:  map[string]any{"type": "object"},
			Message: "must be a JSON object",
		})
	}

	documentType, id := firstText(object, "_type", "type", "documentType"), firstText(object, "_id")
	locales := r.staleLocales(documentType, cms.Language(object), id)
	if locales == nil {
		id = "" // the id of a quote opens its PDF, so it is not logged
	}

	keys, err := r.Site.Invalidate(ctx, locales)
	if err != nil {
		r.Webhooks.Record("error")
		return nil, err
	}

	r.Site.FetchSoon(locales)
	r.Webhooks.Record("ok")

	r.Log.Info().Ctx(ctx).
		Str("document_type", documentType).
		Str("document", id).
		Strs("keys", keys).
		Msg("webhook received")
	return &schema.InvalidateCachePayload{Success: true, Invalidated: keys}, nil
}
