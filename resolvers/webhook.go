package resolvers

import (
	"context"
	"strings"

	"siteapi/integrations/cms"
	"siteapi/resolvers/apierror"
	"siteapi/schema"
)

// webhookEvent is the part of a webhook's payload that the service reads. The shape of
// the payload is configured in the CMS.
type webhookEvent struct {
	documentType string
	locale       string
	id           string
}

// newWebhookEvent looks for each part under several names. The first that holds a
// non-empty string counts.
func newWebhookEvent(payload map[string]any) webhookEvent {
	first := func(names ...string) string {
		for _, name := range names {
			if s, ok := payload[name].(string); ok && s != "" {
				return s
			}
		}
		return ""
	}

	return webhookEvent{
		documentType: first("_type", "type", "documentType"),
		locale:       first("language", "locale", "_lang", "__i18n_lang"),
		id:           first("_id"),
	}
}

// locales returns the locales whose content an event makes stale. Drafts, versions and
// the quotes that the service itself stores affect none.
func (e webhookEvent) locales() []schema.Locale {
	if !cms.IsPublished(e.id) || e.documentType == cms.LeadType ||
		strings.HasPrefix(e.id, cms.LeadType+".") {
		return nil
	}

	if e.locale == "" {
		return schema.Locales()
	}
	if l, ok := schema.ParseLocale(e.locale); ok {
		return []schema.Locale{l}
	}
	return nil
}

// receiveCmsWebhook implements the root field of that name. A failure of the service is
// answered with 503, which the CMS retries, unlike a 4xx.
func (r *Resolver) receiveCmsWebhook(
	ctx context.Context, payload any,
) (*schema.InvalidateCachePayload, error) {
	object, ok := payload.(map[string]any)
	if !ok || len(object) == 0 {
		r.Count("webhook", "refused_body")
		r.Log.Warn().Ctx(ctx).Str("reason", "body").Msg("a webhook of the CMS was refused")
		return nil, schema.BadInput(schema.FieldError{
			Field:   "payload",
			Code:    schema.FieldCodeWrongType,
			Params:  map[string]any{"type": "object"},
			Message: "must be a JSON object",
		})
	}

	event := newWebhookEvent(object)
	locales := event.locales()
	if locales == nil {
		// The id of a quote opens its PDF, so it is not logged.
		event.id = ""
	}

	keys, err := r.Content.Invalidate(ctx, locales)
	if err != nil {
		r.Count("webhook", "error")
		return nil, apierror.From(err)
	}

	r.Content.Renew(locales)
	r.Count("webhook", "ok")

	r.Log.Info().Ctx(ctx).
		Str("document_type", event.documentType).
		Str("document", event.id).
		Strs("keys", keys).
		Msg("webhook received")
	return &schema.InvalidateCachePayload{Success: true, Invalidated: keys}, nil
}
